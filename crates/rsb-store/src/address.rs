//! PostgreSQL addresses: detecting them, and displaying them without passwords. Compiled into every
//! build, with or without PostgreSQL support.

/// Schemes of PostgreSQL addresses, in lowercase.
const SCHEMES: [&str; 2] = ["postgres", "postgresql"];

/// Shown instead of the parts of an address that may contain a password.
const HIDDEN: &str = "…";

/// Returns whether `text` is meant as a PostgreSQL address.
pub fn is_address(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme))
}

/// Returns whether `text` looks like an address that [`is_address`] rejects, such as one with a
/// single slash or without its scheme, and not like a directory.
pub fn is_malformed(text: &str) -> bool {
    !is_address(text) && (text.contains(":/") || without_password(text) != text)
}

/// Returns `address`, which may be malformed, without its password and without its options, which
/// may contain one too. Other text is returned unchanged.
pub fn without_password(address: &str) -> String {
    let (scheme, rest) = split_scheme(address);
    if scheme.is_empty() {
        return without_scheme(address);
    }
    // A password that is not encoded may contain any of `/?@`, so only the text after the last `@`
    // is shown as the host.
    let main = match rest.split_once('?') {
        Some((_, options)) if options.contains('=') && options.contains('@') => {
            return format!("{scheme}{HIDDEN}");
        }
        Some((main, options)) if options.contains('=') => main,
        _ => rest,
    };
    match main.rsplit_once('@') {
        Some((user, host)) if scheme.ends_with("://") => {
            let user = user.split([':', '%']).next().unwrap_or_default();
            format!("{scheme}{user}@{host}")
        }
        Some((_, host)) => format!("{scheme}{HIDDEN}@{host}"),
        // Without a host, the user and the password look like a host and its port, so the second
        // part is hidden unless it is a port.
        None => match main.split_once(':') {
            // An IPv6 address such as `[::1]:5432`.
            _ if main.starts_with('[') => format!("{scheme}{main}"),
            Some((host, port)) if !begins_with_port(port) => format!("{scheme}{host}:{HIDDEN}"),
            _ => format!("{scheme}{main}"),
        },
    }
}

/// Returns whether `address`, for which [`is_address`] holds, contains a password, or may contain
/// one because it is malformed.
pub fn has_password(address: &str) -> bool {
    let (main, options) = address.split_once('?').unwrap_or((address, ""));
    let options = options.to_ascii_lowercase();
    without_password(main) != main || options.contains("password") || options.contains('@')
}

/// Returns `text`, such as an error message, with each address in it as [`without_password`]
/// returns it. An address ends at white space.
pub fn without_passwords(text: &str) -> String {
    text.split_inclusive(char::is_whitespace).map(without_password_in_word).collect()
}

fn is_scheme(scheme: &str) -> bool {
    SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known))
}

/// Splits `address` after its scheme and the slashes that follow. The scheme is empty unless it is
/// a PostgreSQL scheme.
fn split_scheme(address: &str) -> (&str, &str) {
    match address.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => {
            address.split_at(address.len() - rest.trim_start_matches('/').len())
        }
        _ => ("", address),
    }
}

/// Hides the password of an address whose scheme is missing or misspelled, or that is written as
/// `host=HOST password=PASSWORD`.
fn without_scheme(text: &str) -> String {
    let has_password = text.to_ascii_lowercase().contains("password") && text.contains('=');
    if has_password || text.contains(":/") {
        return HIDDEN.to_owned();
    }
    match text.rsplit_once('@') {
        Some((user, host)) if user.contains(':') => format!("{HIDDEN}@{host}"),
        _ => text.to_owned(),
    }
}

/// Returns whether `text` up to its first slash is a port.
fn begins_with_port(text: &str) -> bool {
    let port = text.split_once('/').map_or(text, |(port, _)| port);
    port.parse::<u16>().is_ok()
}

/// Hides the passwords in `word`: the password of an address, which may be quoted or follow
/// `--store=`; that of the login in any other URL; and text after `password=`.
fn without_password_in_word(word: &str) -> String {
    const PASSWORD: &str = "password=";
    let is_around = |c: char| c.is_whitespace() || "`'\"),;.:".contains(c);
    let (body, end) = word.split_at(word.trim_end_matches(is_around).len());
    let lower = body.to_ascii_lowercase();
    if let Some(begin) = find_address(&lower) {
        return format!("{}{}{end}", &body[..begin], without_password(&body[begin..]));
    }
    if let Some(at) = lower.find(PASSWORD) {
        return format!("{}{HIDDEN}{end}", &body[..at + PASSWORD.len()]);
    }
    without_password_of_login(body).map_or_else(|| word.to_owned(), |shown| shown + end)
}

/// Returns the position of a PostgreSQL address in `text`, which is in lower case. The name and
/// digest of a container image, `postgres:16@sha256:…`, is not an address.
fn find_address(text: &str) -> Option<usize> {
    SCHEMES.iter().find_map(|scheme| {
        let begin = text.find(&format!("{scheme}:"))?;
        let rest = &text[begin + scheme.len() + 1..];
        let is_address = rest.starts_with('/') || (rest.contains('@') && !rest.contains("@sha"));
        is_address.then_some(begin)
    })
}

/// Hides the password of `user:password@host` in a URL; `None` if it has none.
fn without_password_of_login(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let (login, _) = authority.rsplit_once('@')?;
    let (user, _) = login.split_once(':')?;
    Some(format!("{scheme}://{user}:{HIDDEN}{}", &rest[login.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_found_in_the_login_and_in_the_options() {
        for address in [
            "postgres://me:secret@host/db",
            "postgres://me%3Asecret@host/db",
            "postgres://me:p@ss@host/db",
            "postgres://me:se?cr=et@host/db",
            "postgres://me:secret/db",
            "postgres://me@host/db?sslmode=require&Password=secret",
        ] {
            assert!(has_password(address), "{address}");
        }
        for address in ["postgres://me@host:5432/db?sslmode=require", "postgresql://[::1]/db"] {
            assert!(!has_password(address), "{address}");
        }
    }

    #[test]
    fn an_address_never_shows_its_password() {
        for (address, shown) in [
            ("postgres://me:secret@host:5432/db?sslmode=require", "postgres://me@host:5432/db"),
            ("postgres://me:p@ss@host/db", "postgres://me@host/db"),
            ("postgres://host/db?password=secret", "postgres://host/db"),
            ("postgres://host?password=secret", "postgres://host"),
            ("postgres://host/db?password=sec@ret", "postgres://…"),
            ("postgres://me:se?cr=et@host/db", "postgres://…"),
            ("postgres://me:se/cr?et@host/db", "postgres://me@host/db"),
            ("postgres://me:secret/db", "postgres://me:…"),
            ("postgres://me%3Asecret@host/db", "postgres://me@host/db"),
            ("postgres://host", "postgres://host"),
            ("PostgreSQL://host:5432/db", "PostgreSQL://host:5432/db"),
        ] {
            assert!(is_address(address) && !is_malformed(address), "{address}");
            assert_eq!(without_password(address), shown);
        }
        assert!(
            is_address("Postgres://host/db")
                && !is_address("benchmark_results")
                && !is_address("http://host")
        );
    }

    #[test]
    fn a_malformed_address_never_shows_its_password() {
        for (address, shown) in [
            ("postgres:/me:secret@host/db", "postgres:/…@host/db"),
            ("postgres:///me:secret@host/db", "postgres:///…@host/db"),
            ("postgres:/me:secret", "postgres:/me:…"),
            ("postgres:secret@host/db", "postgres:…@host/db"),
            ("postgress://me:secret@host/db", "…"),
            ("psql:/me:secret@host/db", "…"),
            ("me:secret@host/db", "…@host/db"),
            ("host=host user=me password = secret", "…"),
        ] {
            assert_eq!(without_password(address), shown);
            // An address with a third slash does not count as malformed: its parser reports the
            // error.
            assert_eq!(is_malformed(address), !address.contains("postgres://"), "{address}");
        }
        for directory in ["benchmark_results", "/data/a:b", "results@home", "password-study"] {
            assert_eq!(without_password(directory), directory);
            assert!(!is_malformed(directory), "{directory}");
        }
    }

    #[test]
    fn a_message_never_shows_the_password_of_an_address() {
        for (text, shown) in [
            (
                "error: unexpected argument 'postgres:/me:secret@host/db' found\n\nUsage: x\n",
                "error: unexpected argument 'postgres:/…@host/db' found\n\nUsage: x\n",
            ),
            (
                "cannot write `postgres://me:secret@host/db`: full",
                "cannot write `postgres://me@host/db`: full",
            ),
            ("--store=postgres://host/db?password=secret, and", "--store=postgres://host/db, and"),
            ("use ssh://me:secret@host.", "use ssh://me:…@host."),
            ("at https://token:secret@example.org/a.git", "at https://token:…@example.org/a.git"),
            ("x.toml:3:store=postgres://me:secret@h/d", "x.toml:3:store=postgres://me@h/d"),
            ("{\"store\":\"postgres://me:secret@h/d\"}", "{\"store\":\"postgres://me@h/d\"}"),
            ("PGPASSWORD=secret\n", "PGPASSWORD=…\n"),
        ] {
            assert_eq!(without_passwords(text), shown);
        }
        for plain in [
            "write postgres://USER@HOST/DATABASE",
            "docker://registry:5000/image@sha256:abc postgres:16@sha256:abcd ssh://git@host:22/a@b",
            "connect to postgres://[::1]:5432/db",
            "fetch ssh://git@example.org/a.git, at http://127.0.0.1:8080/case?name=a@b",
            "rocm:0 – `--features postgres`: in a:b@c  ü\n",
        ] {
            assert_eq!(without_passwords(plain), plain);
        }
    }
}
