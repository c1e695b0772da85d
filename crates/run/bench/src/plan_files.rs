//! Where plans come from: files, folders, and the program itself.

use guestright_error::{OrFail as _, RunError};
use guestright_experiment::{Plan, Testbed, files_wanted};
use guestright_results::file;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

/// What to do about a mistake.
pub const MISTAKE_HINT: &str = "mend the lines above; `guestright-lab list --testbeds` shows every setting and \
    metric, and docs/adding-an-experiment.md how plans are written";
/// The most plans that one folder gives.
const PLANS_MAX: usize = 1_000;
/// Names that files beside the plans' folders have.
const TAKEN: [&str; 2] = [crate::folder::EVALUATION, crate::folder::REPORT];
/// How deep folders are looked into.
const DEPTH_MAX: usize = 8;

/// The text of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// A path, or the name of one that is built in.
    pub name: String,
    pub text: String,
}

/// Every testbed, by the name that plans use: the simulator's, and what measures this computer.
pub fn testbeds() -> &'static [&'static dyn Testbed] {
    static ALL: LazyLock<Vec<&'static dyn Testbed>> = LazyLock::new(|| {
        let own: &dyn Testbed = &crate::cost::Cost;
        guestright_world::testbeds().iter().copied().chain([own]).collect()
    });
    &ALL
}

/// Plans that are built in, by name: `("paper-a/table-2", "…")`.
pub fn sources(built_in: &[(&str, &str)]) -> Vec<Source> {
    built_in.iter().map(|(name, text)| source(name, text)).collect()
}

/// The plans that these words mean, each once, in their order.
///
/// # Errors
/// There are none, or they cannot be read.
pub fn find(words: &[String], built_in: &[(&str, &str)]) -> Result<Vec<Source>, RunError> {
    let mut found: Vec<Source> = Vec::new();
    for word in words {
        for source in find_one(word, built_in)? {
            if !found.contains(&source) {
                found.push(source);
            }
        }
    }
    Ok(found)
}

/// A file, what a folder has, or what is built in under a name or within it.
fn find_one(word: &str, built_in: &[(&str, &str)]) -> Result<Vec<Source>, RunError> {
    let path = Path::new(word);
    if path.is_file() {
        return Ok(vec![read(path)?]);
    }
    if path.is_dir() {
        let mut paths = Vec::new();
        collect(path, 0, &mut paths)?;
        paths.sort();
        if !paths.is_empty() {
            return paths.iter().map(|path| read(path)).collect();
        }
    }
    let name = word.trim_end_matches('/');
    let name = name.strip_suffix(".toml").unwrap_or(name);
    let name = name.strip_prefix("experiments/").unwrap_or(name);
    let within = format!("{name}/");
    let fits = |plan: &&(&str, &str)| plan.0 == name || plan.0.starts_with(&within) || name == "experiments";
    let found: Vec<Source> = built_in.iter().filter(fits).map(|(name, text)| source(name, text)).collect();
    if found.is_empty() && path.is_dir() {
        let error = format!("the folder {word} has no .toml files");
        return Err(RunError::config(error).with_hint("a plan is a file whose name ends in .toml"));
    }
    if found.is_empty() {
        let hint = "name a file or a folder with plans, or one of those that `guestright-lab list` shows";
        let failure = if path.extension().is_some() || path.is_absolute() || word.starts_with('.') {
            RunError::config(format!("there is no file {word}, and no built-in plan of this name"))
        } else {
            RunError::user(format!("there is no plan {word}"))
        };
        return Err(failure.with_hint(hint));
    }
    Ok(found)
}

fn source(name: &str, text: &str) -> Source {
    Source { name: name.to_owned(), text: text.to_owned() }
}

fn collect(folder: &Path, depth: usize, paths: &mut Vec<PathBuf>) -> Result<(), RunError> {
    for entry in std::fs::read_dir(folder).or_config(|| format!("look into {}", folder.display()))? {
        let path = entry.map_err(RunError::config)?.path();
        // What is to be inferred, and how, is no plan.
        let is_studies = path.file_name().is_some_and(|name| name == "inference");
        if path.is_dir() && !path.is_symlink() && !is_studies && depth < DEPTH_MAX {
            collect(&path, depth + 1, paths)?;
        } else if path.extension().is_some_and(|extension| extension == "toml") && path.is_file() {
            paths.push(path);
        }
        if paths.len() > PLANS_MAX {
            let error = format!("{} has more than {PLANS_MAX} plans", folder.display());
            return Err(RunError::config(error).with_hint("name a folder within it, or single files"));
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Source, RunError> {
    let hint = "a plan is a small text in TOML; `guestright-lab list` shows those that are built in";
    let bytes = file::read(path, Plan::TEXT_MAX as u64);
    let bytes = bytes.map_err(|error| RunError::config(error).with_hint(hint))?;
    let text = String::from_utf8(bytes);
    let text =
        text.map_err(|_| RunError::config(format!("{} is no text", path.display())).with_hint(hint))?;
    let text = with_files(path, text)?;
    Ok(Source { name: path.display().to_string(), text })
}

/// The text of a plan with the files that its settings name, which are beside it or below.
fn with_files(plan: &Path, text: String) -> Result<String, RunError> {
    let wanted = files_wanted(&text, testbeds());
    let (mut files, mut bytes) = (Vec::new(), 0);
    for name in wanted.into_iter().take(Plan::FILES_MAX + 1) {
        let is_below = Path::new(&name).components().all(|part| matches!(part, Component::Normal(_)));
        if !is_below {
            let hint = "copy it there, and write its path without `..` and `/` in front";
            return Err(outside(plan, &text, &name).with_hint(hint));
        }
        let folder = plan.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let path = folder.join(&name);
        // Where one of them is not there, reading it says what is wrong.
        if let (Ok(folder), Ok(path)) = (folder.canonicalize(), path.canonicalize())
            && !path.starts_with(&folder)
        {
            let hint = "copy it there; a symbolic link may not lead out of the plan's folder";
            return Err(outside(plan, &text, &name).with_hint(hint));
        }
        let found = file::read(&path, Plan::FILES_BYTES_MAX as u64).map_err(|error| {
            let hint = format!("{} names it; its path is relative to the plan", plan.display());
            RunError::config(error).with_hint(hint)
        })?;
        bytes += found.len();
        if bytes > Plan::FILES_BYTES_MAX {
            let error = format!(
                "{}: its files have more than {} bytes together",
                plan.display(),
                Plan::FILES_BYTES_MAX
            );
            return Err(RunError::config(error).with_hint("make them shorter, or make several plans"));
        }
        let found = String::from_utf8(found)
            .map_err(|_| RunError::config(format!("{} is no text", path.display())))?;
        files.push((name, found));
    }
    Ok(if files.is_empty() { text } else { guestright_experiment::with_files(&text, &files) })
}

/// The text of a file becomes part of the results, which are given to others: one from elsewhere is refused.
fn outside(plan: &Path, text: &str, name: &str) -> RunError {
    let names_it = |line: &str| {
        ['"', '\''].iter().any(|quote| line.contains(&format!("{quote}{name}{quote}")))
            && !line.trim_start().starts_with('#')
    };
    // A name with escapes is not found, and has no line.
    let line = text.lines().position(names_it).map(|index| format!(":{}", index + 1)).unwrap_or_default();
    let plan = plan.display();
    RunError::config(format!("{plan}{line}: the file {name} is not beside the plan or below it"))
}

impl Source {
    /// The plan.
    ///
    /// # Errors
    /// Its mistakes, line by line.
    pub fn parse(&self) -> Result<Plan, RunError> {
        self.parse_with(testbeds())
    }

    pub(crate) fn parse_with(&self, testbeds: &'static [&'static dyn Testbed]) -> Result<Plan, RunError> {
        let plan = Plan::parse(&self.text, testbeds);
        let plan = plan.map_err(|error| {
            RunError::config(error.pointed(&self.name, &self.text)).with_hint(MISTAKE_HINT)
        })?;
        if TAKEN.contains(&plan.name()) {
            let error =
                format!("{}: `name` cannot be {}, the name of a file of results", self.name, plan.name());
            return Err(RunError::config(error).with_hint("give the plan another `name`"));
        }
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_error::Fault as _;

    const PLANS: &[(&str, &str)] =
        &[("paper-a/table-2", "two"), ("paper-a/figure-4", "four"), ("paper-ab", "ab")];

    fn names(word: &str) -> Vec<String> {
        find_one(word, PLANS).unwrap().into_iter().map(|source| source.name).collect()
    }

    #[test]
    fn a_name_means_a_plan_or_those_within_a_folder() {
        assert_eq!(names("paper-a"), ["paper-a/table-2", "paper-a/figure-4"]);
        assert_eq!(names("paper-a/table-2"), ["paper-a/table-2"]);
        assert_eq!(names("experiments/paper-a/table-2.toml"), ["paper-a/table-2"]);
        assert_eq!(names("paper-ab/"), ["paper-ab"]);
        assert_eq!(names("experiments").len(), 3);
        let error = find_one("paper", PLANS).unwrap_err();
        let error = format!("{error} {}", error.hint().unwrap_or_default());
        assert!(error.contains("no plan paper") && error.contains("lab list"), "{error}");
    }

    #[test]
    fn a_file_wins_and_a_folder_without_plans_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(path("deep/er")).unwrap();
        std::fs::write(path("deep/er/b.toml"), "b").unwrap();
        std::fs::write(path("deep/a.toml"), "a").unwrap();
        std::fs::write(path("deep/notes.md"), "no plan").unwrap();
        std::fs::create_dir(path("deep/inference")).unwrap();
        std::fs::write(path("deep/inference/c.toml"), "no plan either").unwrap();
        let texts = |word: PathBuf| -> Vec<String> {
            let found = find_one(word.to_str().unwrap(), PLANS).unwrap();
            found.into_iter().map(|source| source.text).collect()
        };
        assert_eq!(texts(path("deep")), ["a", "b"]);
        assert_eq!(texts(path("deep/er/b.toml")), ["b"]);
        std::fs::create_dir(path("empty")).unwrap();
        let error = find_one(path("empty").to_str().unwrap(), PLANS).unwrap_err().to_string();
        assert!(error.contains("/empty has no .toml files"), "{error}");
    }

    /// Also by the way of a link to a folder or to a file.
    #[test]
    fn a_link_does_not_lead_out_of_the_plans_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let plan = |name: &str| format!("name = \"p\"\n[settings]\nsource.file = \"{name}\"\n");
        std::fs::create_dir_all(path("plans/below")).unwrap();
        std::fs::write(path("secret.txt"), "0 0.1\n").unwrap();
        std::fs::write(path("plans/below/own.txt"), "0 0.1\n").unwrap();
        std::os::unix::fs::symlink("../secret.txt", path("plans/linked.txt")).unwrap();
        std::os::unix::fs::symlink("..", path("plans/up")).unwrap();
        std::os::unix::fs::symlink("below/own.txt", path("plans/inside.txt")).unwrap();
        for name in ["linked.txt", "up/secret.txt"] {
            let error = with_files(&path("plans/plan.toml"), plan(name)).unwrap_err().to_string();
            assert!(
                error.contains(&format!("plan.toml:3: the file {name} is not beside the plan")),
                "{error}"
            );
        }
        for name in ["inside.txt", "below/own.txt"] {
            let text = with_files(&path("plans/plan.toml"), plan(name)).unwrap();
            assert!(text.contains("0 0.1"), "{text}");
        }
    }
}
