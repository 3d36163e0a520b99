//! Links to commits on the forge that hosts a repository.

/// Web address of a repository on its forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forge {
    repository: String,
    /// Path between the repository and a commit.
    commit_path: &'static str,
}

impl Forge {
    /// Parses the URL of a git remote: `https://host/owner/name.git`, `ssh://git@host/owner/name`
    /// or `git@host:owner/name.git`. `None` if it names no host and path, such as a local one.
    /// Credentials in the URL are dropped.
    pub fn from_remote(url: &str) -> Option<Self> {
        let url = url.trim();
        let (host, path) = match url.split_once("://") {
            Some(("https" | "http" | "ssh" | "git", rest)) => rest.split_once('/')?,
            Some(_) => return None,
            None => url.split_once(':')?,
        };
        let host = host.rsplit('@').next()?.split(':').next()?;
        let path = path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        let is_plain = |text: &str| {
            text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./~".contains(&byte))
        };
        if !host.contains('.') || !path.contains('/') || !is_plain(host) || !is_plain(path) {
            return None;
        }
        let commit_path = match host {
            _ if host.contains("gitlab") => "-/commit",
            "bitbucket.org" => "commits",
            _ => "commit",
        };
        Some(Self { repository: format!("https://{host}/{path}"), commit_path })
    }

    /// Returns the address of `commit`; `None` if it is no hash.
    pub fn commit(&self, commit: &str) -> Option<String> {
        let is_hash =
            (7..=64).contains(&commit.len()) && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash.then(|| format!("{}/{}/{commit}", self.repository, self.commit_path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remotes_lead_to_commits_without_their_credentials() {
        struct Remote {
            url: &'static str,
            expected: Option<&'static str>,
        }
        let remotes = [
            Remote {
                url: "git@github.com:rust-lang/rust.git\n",
                expected: Some("https://github.com/rust-lang/rust/commit/1a2b3c4"),
            },
            Remote {
                url: "https://user:secret@gitlab.example.org/group/sub/name",
                expected: Some("https://gitlab.example.org/group/sub/name/-/commit/1a2b3c4"),
            },
            Remote {
                url: "ssh://git@bitbucket.org:7999/owner/name.git",
                expected: Some("https://bitbucket.org/owner/name/commits/1a2b3c4"),
            },
            Remote { url: "/srv/git/name.git", expected: None },
            Remote { url: "file:///srv/git/name.git", expected: None },
            Remote { url: "javascript:alert(1)/x.y", expected: None },
            Remote { url: "https://github.com/a/\"><b>", expected: None },
        ];
        for Remote { url, expected } in remotes {
            let link = Forge::from_remote(url).and_then(|forge| forge.commit("1a2b3c4"));
            assert_eq!(link.as_deref(), expected, "{url}");
        }
        let forge = Forge::from_remote("https://github.com/a/b").unwrap();
        assert_eq!(forge.commit("HEAD~1"), None);
    }
}
