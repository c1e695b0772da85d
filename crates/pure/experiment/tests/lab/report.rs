//! What is printed, and that it can be read without anything else.

use crate::testbed::{example, plan, run, small};
use guestright_experiment::{Evaluation, Files, Platform, Provenance, evaluate, report_html};

fn provenance() -> Provenance {
    Provenance {
        title: String::new(),
        head: vec![("Command".into(), "guestright-lab run voice-capacity".into())],
        facts: vec![("version".into(), "1.2.3".into()), ("host".into(), "a <computer> & more".into())],
        files: vec![Files {
            csv: "voice-capacity/rows.csv".into(),
            parquet: "voice-capacity/rows.parquet".into(),
            figures: "voice-capacity/figures".into(),
            rows: "run,case\n0,plain\n".into(),
        }],
    }
}

fn evaluation() -> Evaluation {
    let plan = plan(example());
    evaluate(&plan, &run(&plan), Platform::Sim)
}

#[test]
fn the_examples_text() {
    insta::assert_snapshot!("example_text", evaluation().text());
}

#[test]
fn the_examples_page() {
    let page = report_html(&[evaluation()], &provenance());
    // The pictures have a test of their own, and the rows are the figure's CSV.
    let mut short = String::new();
    let mut rest = page.as_str();
    while let Some((before, after)) = rest.split_once("<svg") {
        short.push_str(before);
        short.push_str("<svg … />");
        rest = after.rsplit_once("</svg>").map_or("", |(inside, end)| {
            let _ = inside;
            end
        });
    }
    short.push_str(rest);
    let mut parts = short.split("base64,");
    let mut page = parts.next().unwrap().to_owned();
    for part in parts {
        page.push_str("base64,…\"");
        page.push_str(part.split_once('"').unwrap().1);
    }
    let (head, body) = page.split_once("<style>").unwrap();
    let body = body.split_once("</style>").unwrap().1;
    insta::assert_snapshot!("example_page", format!("{head}<style>…</style>{body}"));
}

#[test]
fn the_page_needs_nothing_else_and_says_everything_once() {
    let both = [evaluation(), Evaluation { platform: Platform::Netns, ..evaluation() }];
    let page = report_html(&both, &provenance());
    for word in ["<script", "<link", "@import", "url(", "<img", "<iframe", " src=", " onload"] {
        assert!(!page.contains(word), "{word}");
    }
    let outside = page.split("http").skip(1).filter(|rest| !rest.starts_with("://www.w3.org/2000/svg"));
    assert_eq!(outside.count(), 0, "no address but SVG's name");
    let mut ids: Vec<&str> =
        page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "each id is there once");
    for link in page.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(ids.contains(&link), "{link} leads nowhere");
    }
    assert!(page.contains("a &lt;computer&gt; &amp; more"));
    every_tag_is_closed(&page);
    // For whoever wants to look at it.
    std::fs::write(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("report.html"), page).unwrap();
}

/// What a browser would forgive.
fn every_tag_is_closed(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    for tag in page.split('<').skip(1).map(|rest| rest.split_once('>').unwrap().0) {
        let name = tag.split([' ', '\n']).next().unwrap();
        if name.starts_with('!') || ["meta", "input"].contains(&name) || tag.ends_with('/') {
            continue;
        }
        match name.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed), "</{closed}> after {open:?}"),
            None => open.push(name),
        }
    }
    assert_eq!(open, Vec::<&str>::new());
}

#[test]
fn nothing_in_a_plan_can_leave_its_place_in_the_page() {
    let evil = "</title></style></details><script>alert(1)</script>' onclick=x";
    let text = example()
        .replace("Calls that one access point carries", evil)
        .replace("\"Calls\"", &format!("\"{evil}\""))
        .replace("Dearer receipts never carry more calls", evil)
        .replace("\"Plain\"", &format!("\"{evil}\""))
        .replace("Section 6", evil)
        .replace("Where the calls end", evil)
        .replace("3.6: acceptable", evil)
        .replace("Plain, in the paper", evil);
    let plan = plan(&text).quick();
    let page = report_html(&[evaluate(&plan, &run(&plan), Platform::Sim)], &Provenance::default());
    assert!(!page.contains("<script"));
    // As the whole of a quoted attribute, and nowhere else before a quotation mark.
    let quoted = format!("title=\"{}\"", evil.replace('<', "&lt;").replace('>', "&gt;"));
    assert_eq!(page.matches("onclick=x\"").count(), page.matches(&quoted).count());
    assert!(page.contains("&lt;script&gt;"));
}

#[test]
fn a_single_seed_has_no_interval_and_what_fails_is_counted() {
    let text = example()
        .replace("cpu.nat_us = 100.0", "cpu.nat_us = 600.0")
        .replace("\nsource = \"", "\nsource = \"See p. 4. ");
    let plan = plan(&text).quick().with_seeds(1).unwrap();
    let evaluation = evaluate(&plan, &run(&plan), Platform::Sim);
    let page = report_html(std::slice::from_ref(&evaluation), &Provenance::default());
    assert!(!page.contains("Shaded: 95"), "there is no interval");
    assert!(page.contains("1 seed<") && !page.contains("in every seed"));
    assert!(!page.contains("..</p>"), "one full stop");
    let list = page.split("What does not fit").nth(1).unwrap().split("</ul>").next().unwrap();
    assert!(list.contains(&format!("</span> {}: <a", evaluation.title)), "{list}");
    assert!(list.contains(" of 3 numbers; "), "{list}");
}

#[test]
fn an_evaluation_is_the_same_after_json() {
    let evaluation = evaluation();
    let again = Evaluation::from_json(&evaluation.json()).unwrap();
    assert_eq!(again, evaluation);
    assert_eq!(report_html(&[again], &provenance()), report_html(&[evaluation], &provenance()));
}

#[test]
fn a_figure_without_numbers_says_so() {
    let text = small(
        "[settings]\nbroken = true\n[[figure]]\nid = \"f\"\ntitle = \"Nothing\"\nx = \"calls\"\ny = \"mos_mean\"",
    );
    let plan = plan(&text);
    let page = report_html(&[evaluate(&plan, &run(&plan), Platform::Sim)], &Provenance::default());
    assert!(page.contains("has no number to show"), "{page}");
}

#[test]
fn figures_over_cases_words_and_several_axes() {
    let text = small(
        "receipts.suite = [\"none\", \"rsa-1024\"]\n[[case]]\nname = \"a\"\n[[case]]\nname = \"b\"\nsettings = { cpu.nat_us = 500 }\n\
         [[measure]]\nid = \"room\"\nkind = \"largest\"\nof = \"load\"\nat_most = 0.6\nover = \"calls\"\notherwise = 0\n\
         [[figure]]\nid = \"bars\"\ntitle = \"By suite\"\nx = \"receipts.suite\"\ny = \"room\"\n\
         [[figure]]\nid = \"cases\"\ntitle = \"By case\"\nx = \"case\"\ny = [\"load\", \"delay_ms\"]\nat = { calls = 5 }\n\
         [[table]]\nid = \"t\"\ntitle = \"Room\"\nrows = [\"case\"]\ncolumns = \"receipts.suite\"\n[[table.column]]\nof = \"room\"\nshow = \"interval\"\n\
         [[table]]\nid = \"u\"\ntitle = \"By calls\"\nrows = \"calls\"\nat = { receipts.suite = \"none\" }\n\
         [[table.column]]\nof = \"delay_ms\"\ncase = \"b\"\ndecimals = 1\npublished = [[5, 30], [8, 60.5]]\n[[table.column]]\nsetting = \"cpu.nat_us\"\ncase = \"b\"\n",
    );
    let plan = plan(&text);
    let evaluation = evaluate(&plan, &run(&plan), Platform::Sim);
    let names: Vec<Vec<&str>> = evaluation
        .figures
        .iter()
        .map(|figure| figure.series.iter().map(|series| series.name.as_str()).collect())
        .collect();
    assert_eq!(names[0], ["a", "b"]);
    assert_eq!(names[1], ["load, none", "load, rsa-1024", "delay_ms, none", "delay_ms, rsa-1024"]);
    assert_eq!(evaluation.figures[0].x_names, ["none", "rsa-1024"]);
    for figure in &evaluation.figures {
        assert!(figure.svg().unwrap().contains("<rect class=\"gf-0 gf-dot\""), "bars");
    }
    insta::assert_snapshot!("axes_text", evaluation.text());
    let csv = evaluation.tables[1].csv();
    assert!(csv.starts_with("calls,delay_ms,\"delay_ms, published\",cpu.nat_us\n1,"), "{csv}");
    assert!(csv.contains(",30.0,500.0\n"), "{csv}");
}

#[test]
fn a_metric_may_take_the_place_of_the_axis_in_a_figure() {
    let figure = "[[figure]]\nid = \"f\"\ntitle = \"Load against delay\"\nx = \"calls\"\nx_of = \"delay_ms\"\ny = \"load\"";
    let axis = small(&figure.replace("x_of = \"delay_ms\"\n", ""));
    let draw = |text: &str| {
        let plan = plan(text);
        evaluate(&plan, &run(&plan), Platform::Sim).figures.remove(0)
    };
    let (by_delay, by_calls) = (draw(&small(figure)), draw(&axis));
    assert_eq!((by_delay.x_label.as_str(), by_calls.x_label.as_str()), ("delay_ms (ms)", "calls"));
    let points = |figure: &guestright_experiment::FigureNumbers| figure.series[0].points.clone();
    for (one, other) in points(&by_delay).iter().zip(points(&by_calls)) {
        assert_eq!((&one.label, &one.estimate), (&other.label, &other.estimate));
        assert_eq!(other.x.to_string(), other.label);
    }
    let delays: Vec<f64> = points(&by_delay).iter().map(|point| point.x).collect();
    let plan = plan(&small("[[figure]]\nid = \"f\"\ntitle = \"Delay\"\nx = \"calls\"\ny = \"delay_ms\""));
    let want = evaluate(&plan, &run(&plan), Platform::Sim).figures.remove(0);
    let want: Vec<f64> = points(&want).iter().filter_map(|point| point.estimate.mean).collect();
    assert!(!want.is_empty() && delays == want, "{delays:?} {want:?}");
    assert!(by_delay.svg().unwrap().contains("<path"));
}

#[test]
fn what_is_drawn_to_the_right_has_a_value_at_every_point() {
    let wrong = |x: &str, x_of: &str| {
        let text = small(&format!(
            "[[measure]]\nid = \"room\"\nkind = \"largest\"\nof = \"load\"\nat_most = 0.6\nover = \"calls\"\notherwise = 0\n\
             [[figure]]\nid = \"f\"\ntitle = \"t\"\nx = \"{x}\"\nx_of = \"{x_of}\"\ny = \"load\""
        ));
        guestright_experiment::Plan::parse(&text, crate::testbed::TESTBEDS).unwrap_err().to_string()
    };
    assert!(wrong("case", "delay_ms").contains("needs an axis"), "{}", wrong("case", "delay_ms"));
    assert!(wrong("calls", "room").contains("has not the same axes"), "{}", wrong("calls", "room"));
    assert!(wrong("calls", "dealy_ms").contains("delay_ms"), "{}", wrong("calls", "dealy_ms"));
}
