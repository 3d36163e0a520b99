//! Addresses, their links and their files.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn parsed(link: &str) -> Result<Address, AddressError> {
    let (path, query) = link.split_once('?').unwrap_or((link, ""));
    Address::parse(path.trim_start_matches("./"), query)
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z0-9:/_.]{1,20}", "\\PC{1,12}".prop_map(|text: String| text.trim().to_owned())]
}

fn view() -> impl Strategy<Value = PageView> {
    let list = || {
        (text(), text(), 0_usize..9).prop_map(|(find, branch, page)| ListFilter {
            find,
            branch,
            page,
            ..ListFilter::default()
        })
    };
    let compare = (text(), text(), 0_usize..5, 0_usize..3, text()).prop_map(
        |(from, to, show, sort, find)| {
            PageView::Compare(CompareView {
                from,
                to,
                show: ShownVerdicts::ALL[show].0,
                sort: Order::ALL[sort].0,
                find,
            })
        },
    );
    let window = prop::option::of(
        (1_usize..99, 1_usize..99).prop_map(|(first, count)| (first, first + count)),
    );
    let together = (0_usize..5, any::<bool>()).prop_map(|(by, ratio)| (SeriesBy::ALL[by].0, ratio));
    let case = (text(), text(), text(), window, 0_usize..9, together).prop_map(
        |(id, metric, machine, window, page, (by, ratio))| {
            PageView::Case(CaseView { id, metric, machine, window, page, by, ratio })
        },
    );
    prop_oneof![
        text().prop_map(|branch| PageView::Overview { branch }),
        list().prop_map(PageView::Runs),
        list().prop_map(PageView::Cases),
        text().prop_map(|id| PageView::Run { id }),
        text().prop_map(|id| PageView::Charts { id }),
        compare,
        case,
        Just(PageView::Machines),
        Just(PageView::Models),
        Just(PageView::Live),
    ]
}

fn form() -> impl Strategy<Value = Form> {
    let chart = ("[a-z0-9.-]{1,20}", 0_usize..3)
        .prop_map(|(name, format)| Form::Chart { name, format: ChartFileFormat::ALL[format].0 });
    prop_oneof![Just(Form::Page), Just(Form::Json), chart]
}

proptest! {
    #[test]
    fn a_link_leads_to_what_it_was_made_of(view in view(), form in form()) {
        let address = Address { view, form };
        let link = address.link();
        prop_assert!(link.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'<>\\#".contains(&byte)), "{link}");
        prop_assert_eq!(parsed(&link), Ok(address));
    }

    #[test]
    fn files_are_safe_and_differ(one in view(), other in view(), form in form()) {
        let [one, other] = [one, other].map(|view| Address { view, form: form.clone() });
        let is_safe = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        for name in [one.file(), other.file()] {
            let name = name.strip_prefix("api/").unwrap_or(&name);
            prop_assert!(name.chars().all(is_safe) && !name.starts_with('.') && name.len() < 250, "{}", name);
        }
        prop_assert_eq!(one.file() == other.file(), one == other);
    }

    #[test]
    fn whatever_is_asked_is_answered(path in "\\PC{0,20}", query in "\\PC{0,40}") {
        let _ = Address::parse(&path, &query);
    }
}

#[test]
fn addresses_are_short_and_can_be_read() {
    let case = CaseView {
        window: Some((10, 20)),
        ..CaseView::of("cpu_performance/gemm/cpu:0/f32/64x64x64")
    };
    let links = [
        (PageView::Overview { branch: String::new() }, "./"),
        (PageView::Overview { branch: "feature/x".into() }, "./?branch=feature/x"),
        (
            PageView::Run { id: "20261121T090312Z_1a2b3c4".into() },
            "run?id=20261121T090312Z_1a2b3c4",
        ),
        (PageView::Compare(CompareView::of("quick", "20261121")), "compare?from=quick&to=20261121"),
        (PageView::Case(case), "case?id=cpu_performance/gemm/cpu:0/f32/64x64x64&runs=10-20"),
    ];
    for (view, link) in links {
        assert_eq!(Address::page(view).link(), link);
    }
    let files: BTreeSet<String> = ["a", "A", "a/b", "a-b", "a b"]
        .map(|id| Address::page(PageView::Run { id: id.into() }).file().to_lowercase())
        .into();
    assert_eq!(files.len(), 5, "{files:?}");
}

#[test]
fn spaces_at_the_ends_of_a_case_are_part_of_its_name() {
    let address = Address::page(PageView::Case(CaseView::of(" parse/small ")));
    assert_eq!(parsed(&address.link()), Ok(address));
}

#[test]
fn a_typo_never_means_the_default() {
    for (link, part) in [
        ("nothing", "no page `nothing`"),
        ("../etc/passwd", "no page"),
        ("run?idd=x", "`idd` is not a parameter"),
        ("compare?show=reg", "one of changed, all"),
        ("case?id=x&runs=20-10", "such as 10-20"),
        ("case?id=x&first=1&last=x", "such as 10-20"),
        ("runs?page=0", "at least 1"),
        ("run?id=x&chart=a.gif", ".csv, .svg or .png"),
        ("api/", "no page"),
    ] {
        let error = parsed(link).unwrap_err().to_string();
        assert!(error.contains(part), "{link}: {error}");
    }
}
