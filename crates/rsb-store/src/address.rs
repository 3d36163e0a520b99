//! Addresses of PostgreSQL: known as such, and shown without their password, in every build.

/// Whether `text` is meant as an address of PostgreSQL.
pub fn is_address(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| ["postgres", "postgresql"].contains(&scheme.as_str()))
}

/// `address` without its password, and without its options, which may hold one too.
pub fn without_password(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    // A password that is not encoded as it should be may hold any of `/?@`: what is shown is what
    // follows the last `@`.
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
