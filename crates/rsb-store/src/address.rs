//! PostgreSQL addresses: detecting them, and displaying them without passwords. Part of every
//! build.

/// Returns whether `text` is meant as a PostgreSQL address.
pub fn is_address(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| ["postgres", "postgresql"].contains(&scheme.as_str()))
}

/// Returns `address` without its password and without its options, which may contain one too.
pub fn without_password(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    // An unencoded password may contain any of `/?@`, so only the text after the last `@` is shown
    // as the host.
    let main = match rest.split_once('?') {
        Some((main, options)) if options.contains('=') => main,
        _ => rest,
    };
    match main.rsplit_once('@') {
        Some((user, host)) => {
            let user = user.split_once(':').map_or(user, |(user, _)| user);
            format!("{scheme}://{user}@{host}")
        }
        None => format!("{scheme}://{main}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_never_shows_its_password() {
        for (address, shown) in [
            ("postgres://me:secret@host:5432/db?sslmode=require", "postgres://me@host:5432/db"),
            ("postgres://me:p@ss@host/db", "postgres://me@host/db"),
            ("postgres://host/db?password=secret", "postgres://host/db"),
            ("postgres://host?password=secret", "postgres://host"),
            ("postgres://me:se/cr?et@host/db", "postgres://me@host/db"),
            ("postgres://host", "postgres://host"),
        ] {
            assert!(is_address(address));
            assert_eq!(without_password(address), shown);
        }
        assert!(
            is_address("Postgres://host/db")
                && !is_address("benchmark_results")
                && !is_address("http://host")
        );
    }
}
