//! Parsing and encoding of queries.

use super::{AddressError, CaseView, CompareView, ListFilter, Order, SeriesBy, ShownVerdicts, bad};

pub(super) struct Query<'q> {
    page: &'q str,
    pairs: Vec<(String, String)>,
}

impl<'q> Query<'q> {
    pub(super) fn of(page: &'q str, query: &str) -> Self {
        Self { page, pairs: pairs(query) }
    }

    /// Removes `key` and returns its value, the last one if it occurs several times.
    pub(super) fn take(&mut self, key: &str) -> Option<String> {
        let mut found = None;
        self.pairs.retain_mut(|(known, value)| {
            let is_it = known == key;
            if is_it {
                found = Some(std::mem::take(value));
            }
            !is_it
        });
        found.filter(|value| !value.is_empty())
    }

    pub(super) fn text(&mut self, key: &str) -> String {
        self.take(key).unwrap_or_default().trim().to_owned()
    }

    pub(super) fn page(&mut self) -> Result<usize, AddressError> {
        let Some(text) = self.take("page") else { return Ok(0) };
        let page = text.parse::<usize>().ok().and_then(|page| page.checked_sub(1));
        page.ok_or_else(|| bad("page", &text, "expected a number of at least 1"))
    }

    pub(super) fn list_filter(&mut self) -> Result<ListFilter, AddressError> {
        let (find, branch) = (self.text("find"), self.text("branch"));
        Ok(ListFilter { find, branch, page: self.page()?, ..ListFilter::default() })
    }

    pub(super) fn choice<T: Copy + Default>(
        &mut self,
        key: &str,
        all: &[(T, &'static str, &'static str)],
    ) -> Result<T, AddressError> {
        let Some(text) = self.take(key) else { return Ok(T::default()) };
        let found = all.iter().find(|(_, name, _)| *name == text).map(|(each, ..)| *each);
        found.ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|(_, name, _)| *name).collect();
            bad(key, &text, format!("expected one of {}", names.join(", ")))
        })
    }

    pub(super) fn compare(&mut self) -> Result<CompareView, AddressError> {
        Ok(CompareView {
            from: self.text("from"),
            to: self.text("to"),
            show: self.choice("show", &ShownVerdicts::ALL)?,
            sort: self.choice("sort", &Order::ALL)?,
            find: self.text("find"),
        })
    }

    pub(super) fn case(&mut self) -> Result<CaseView, AddressError> {
        // A name may begin or end with a space.
        let id = self.take("id").unwrap_or_default();
        let (metric, machine) = (self.text("metric"), self.text("machine"));
        Ok(CaseView {
            id,
            metric,
            machine,
            window: self.window()?,
            page: self.page()?,
            by: self.choice("by", &SeriesBy::ALL)?,
            ratio: self.choice("ratio", &[(false, "none", ""), (true, "first", "")])?,
        })
    }

    /// Parses `runs=10-20`, or both ends separately, as a form sends them.
    fn window(&mut self) -> Result<Option<(usize, usize)>, AddressError> {
        let (first, last) = (self.take("first"), self.take("last"));
        let text = match (self.take("runs"), first, last) {
            (Some(text), ..) => text,
            (None, Some(first), Some(last)) => format!("{first}-{last}"),
            _ => return Ok(None),
        };
        let ends = text
            .split_once('-')
            .and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
        let window = ends.filter(|(first, last): &(usize, usize)| *first > 0 && first < last);
        window
            .map(Some)
            .ok_or_else(|| bad("runs", &text, "expected the first and the last run, such as 10-20"))
    }

    pub(super) fn finish(self) -> Result<(), AddressError> {
        match self.pairs.into_iter().next() {
            None => Ok(()),
            Some((key, _)) => Err(AddressError::UnknownKey { page: self.page.to_owned(), key }),
        }
    }
}

/// Returns the pairs of `query`, decoded.
pub(super) fn pairs(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(key), decode(value))
    });
    pairs.collect()
}

/// Encodes `text` for a query. Allowed characters stay, so that ids of cases are readable.
pub(super) fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~/:,@!*".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// Decodes `text` from a query. Invalid UTF-8 is replaced.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after
            .get(..2)
            .filter(|_| first == b'%')
            .and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            bytes.push(byte);
            rest = after.get(2..).unwrap_or_default();
        } else {
            bytes.push(if first == b'+' { b' ' } else { first });
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
