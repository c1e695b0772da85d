//! Links in Markdown to files of the checkout.

use std::collections::BTreeSet;

/// Returns the links that lead to no file of ours. Addresses and places within a file are not followed.
pub(super) fn check(file: &str, content: &str, files: &BTreeSet<String>) -> Vec<String> {
    let mut problems = Vec::new();
    let mut fence = None;
    for (index, line) in content.lines().enumerate() {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        if mark.is_some() && (fence.is_none() || fence == mark) {
            fence = if fence.is_none() { mark } else { None };
            continue;
        }
        if fence.is_some() {
            continue;
        }
        for target in targets(&without_code(line)) {
            if is_local(&target) && !leads_somewhere(file, &target, files) {
                problems.push(format!("{file}:{}: link to `{target}`, which is not there", index + 1));
            }
        }
    }
    problems
}

/// The line with its `code` spans blanked out; marks without a partner are text.
fn without_code(line: &str) -> String {
    let mut plain = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        let marks = rest[at..].len() - rest[at..].trim_start_matches('`').len();
        let (before, body) = (&rest[..at], &rest[at + marks..]);
        plain.push_str(before);
        match body.find(&"`".repeat(marks)) {
            Some(end) => {
                plain.push(' ');
                rest = &body[end + marks..];
            }
            None => rest = body,
        }
    }
    plain + rest
}

/// `[text](target)`, `[name]: target`, `src="target"` and `href="target"`.
fn targets(line: &str) -> Vec<String> {
    let mut found: Vec<String> = line.split("](").skip(1).map(inline_target).collect();
    for attribute in ["src=\"", "href=\""] {
        let values = line.split(attribute).skip(1).filter_map(|rest| rest.split('"').next());
        found.extend(values.map(str::to_owned));
    }
    if let Some((name, target)) = line.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("]:"))
        && !name.starts_with('^')
        && !name.contains(']')
    {
        found.extend(target.split_whitespace().next().map(|word| word.trim_matches(['<', '>']).to_owned()));
    }
    found
}

/// What stands before the parenthesis that closes the link, without a title.
fn inline_target(rest: &str) -> String {
    if let Some((target, _)) = rest.strip_prefix('<').and_then(|inner| inner.split_once('>')) {
        return target.to_owned();
    }
    let mut depth = 0_u32;
    let end = rest.find(|letter: char| {
        depth += u32::from(letter == '(');
        let closes = letter == ')';
        let is_end = (closes && depth == 0) || letter.is_whitespace();
        depth = depth.saturating_sub(u32::from(closes));
        is_end
    });
    rest[..end.unwrap_or(rest.len())].to_owned()
}

fn is_local(target: &str) -> bool {
    let scheme = target.split_once(':').is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
    });
    !(target.is_empty() || target.starts_with('#') || target.starts_with("//") || scheme)
}

fn leads_somewhere(file: &str, target: &str, files: &BTreeSet<String>) -> bool {
    let path = target.split(['#', '?']).next().unwrap_or_default().replace("%20", " ");
    let mut parts: Vec<&str> = match path.strip_prefix('/') {
        Some(_) => Vec::new(),
        None => file.rsplit_once('/').map_or(Vec::new(), |(folder, _)| folder.split('/').collect()),
    };
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => return false,
            ".." => {}
            part => parts.push(part),
        }
    }
    let path = parts.join("/");
    let folder = format!("{path}/");
    path.is_empty() || files.contains(&path) || files.iter().any(|file| file.starts_with(&folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_files_of_the_checkout() {
        #[rustfmt::skip]
        let cases = [
            ("[a](b.md)",                                 0),
            ("[a](./b.md#part) and [c](../README.md)",    0),
            ("[a](/docs/b.md)",                           0),
            ("[a](design) [a](design/)",                  0),
            ("[a](<with space.md>) [a](with%20space.md)", 0),
            ("[a](b.md \"title\")",                       0),
            ("![a](x_(1).svg)",                           0),
            ("[a]: b.md",                                 0),
            ("<img src=\"x_(1).svg\">",                   0),
            ("[a](https://example.org/x) [a](#part)",     0),
            ("[a](mailto:a@example.org)",                 0),
            ("`[a](gone.md)` ``[`a`](gone.md)``",         0),
            ("```\n[a](gone.md)\n~~~\n[a](gone.md)\n```", 0),
            ("[^1]: A note.",                             0),
            ("[a](gone.md)",                              1),
            ("`` ` `` [a](gone.md)",                      1),
            ("```\nx\n```\n[a](gone.md)",                 1),
            ("[a](../../README.md)",                      1),
            ("[a]: gone.md",                              1),
            ("[![a](gone.svg)](gone.md)",                 2),
            ("<a href=\"gone.md\">",                      1),
        ];
        let files = ["README.md", "docs/b.md", "docs/design/1.md", "docs/with space.md", "docs/x_(1).svg"];
        let files = files.map(str::to_owned).into();
        for (content, want) in cases {
            let problems = check("docs/a.md", content, &files);
            assert_eq!(problems.len(), want, "{content}: {problems:?}");
        }
    }
}
