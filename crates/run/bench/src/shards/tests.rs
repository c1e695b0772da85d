use super::*;
use crate::batch::{self, Earlier, Event, Settings};
use crate::fake;
use guestright_error::Fault as _;

fn program(commit: &str) -> Program {
    Program { version: "1".to_owned(), commit: Some(commit.to_owned()), sha256: "aa".repeat(32) }
}

fn settings(out: &Path, shard: Option<Shard>, commit: &str) -> Settings {
    Settings {
        out: out.to_owned(),
        platforms: vec![],
        is_quick: false,
        seeds: None,
        threads: Some(2),
        earlier: Earlier::Used,
        shard,
        command: "guestright-lab run plan".to_owned(),
        program: program(commit),
        worker: &[],
    }
}

fn source(text: &str) -> Source {
    Source { name: "plan.toml".to_owned(), text: text.to_owned() }
}

/// Runs one shard, until so many runs are made; what it said.
fn run_until(settings: &Settings, text: &str, runs_max: usize) -> Vec<String> {
    let plan = Plan::parse(text, fake::TESTBEDS).unwrap();
    let (stopper, inbox) = batch::stopper();
    let (mut runs, mut sentences) = (0, vec![]);
    let on_event = &mut |event: Event<'_>| {
        match event {
            Event::RunMade { .. } => {
                runs += 1;
                if runs == runs_max {
                    assert!(stopper.stop(), "the batch is there");
                }
            }
            Event::Sentence(sentence) => sentences.push(sentence),
            Event::Began { .. } | Event::Ended => {}
        }
        Ok(())
    };
    let made = settings.run_shard(vec![(source(text), plan)], inbox, on_event);
    assert!(made.is_ok() || runs_max < usize::MAX, "{made:?}");
    sentences
}

fn run_shard(out: &Path, number: u32, of: u32, commit: &str) {
    run_until(&settings(out, Some(Shard { number, of }), commit), &fake::text(""), usize::MAX);
}

fn merge_all(folders: &[PathBuf], out: &Path) -> Result<Merged, RunError> {
    merge_with(folders, out, "guestright-lab merge", &program("c1"), fake::TESTBEDS)
}

fn missing_all(folders: &[PathBuf]) -> Result<Missing, RunError> {
    missing_of(&find(folders, "1", fake::TESTBEDS)?)
}

const FILES: [&str; 3] = ["fake-plan/rows.parquet", "fake-plan/rows.csv", "evaluation.json"];

/// What one computer writes.
fn whole(home: &Path) -> Vec<Vec<u8>> {
    let out = home.join("whole");
    let plan = Plan::parse(&fake::text(""), fake::TESTBEDS).unwrap();
    let plans = vec![(source(&fake::text("")), plan)];
    settings(&out, None, "c1").run(plans, batch::stopper().1, &mut |_| Ok(())).unwrap();
    FILES.iter().map(|name| std::fs::read(out.join(name)).unwrap()).collect()
}

fn bytes(out: &Path) -> Vec<Vec<u8>> {
    FILES.iter().map(|name| std::fs::read(out.join(name)).unwrap()).collect()
}

#[test]
fn shards_in_one_folder_or_many_become_the_bytes_of_one_computer() {
    let home = tempfile::tempdir().unwrap();
    let want = whole(home.path());
    for of in [1, 3, 7, 40, 41] {
        let one = home.path().join(format!("one-{of}"));
        let many: Vec<PathBuf> =
            (1..=of).map(|number| home.path().join(format!("many-{of}-{number}"))).collect();
        for number in 1..=of {
            run_shard(&one, number, of, "c1");
            run_shard(&many[number as usize - 1], number, of, "c1");
        }
        let out = home.path().join(format!("merged-{of}"));
        for folders in [std::slice::from_ref(&one), &many] {
            let merged = merge_all(folders, &out).unwrap();
            assert_eq!((bytes(&out) == want, merged.builds), (true, None), "{of}");
            assert_eq!(merged.finished[0].record.runs, 40);
            std::fs::remove_dir_all(&out).unwrap();
        }
        // Also into the folder of the shards themselves.
        merge_all(std::slice::from_ref(&one), &one).unwrap();
        assert!(bytes(&one) == want);
    }
}

#[test]
fn finished_results_of_more_seeds_are_not_replaced() {
    let home = tempfile::tempdir().unwrap();
    whole(home.path());
    let out = home.path().join("whole");
    let record = out.join("fake-plan/run.json");
    let mut changed: serde_json::Value = serde_json::from_slice(&std::fs::read(&record).unwrap()).unwrap();
    let seeds = changed["seeds"].as_array_mut().unwrap();
    seeds.push(seeds[0].clone());
    std::fs::write(&record, changed.to_string()).unwrap();
    let before = bytes(&out);
    let shards = [home.path().join("shards")];
    run_shard(&shards[0], 1, 1, "c1");
    let error = merge_all(&shards, &out).unwrap_err().to_string();
    assert!(error.contains("finished results of") && error.contains("have fewer"), "{error}");
    assert!(bytes(&out) == before);
}

#[test]
fn what_is_missing_is_named_as_slurm_takes_it() {
    let home = tempfile::tempdir().unwrap();
    let out = [home.path().join("out")];
    let error = missing_all(&[home.path().to_owned()]).unwrap_err();
    assert!(error.to_string().contains("there are no shards"), "{error}");
    for number in [1, 2, 5] {
        run_shard(&out[0], number, 9, "c1");
    }
    assert_eq!(missing_all(&out).unwrap().array(), "3-4,6-9");
    let error = merge_all(&out, home.path()).unwrap_err();
    assert!(error.to_string().contains("still missing, of shards 3-4,6-9"), "{error}");
    assert!(!home.path().join("evaluation.json").exists(), "nothing is written of a part");
    for number in [3, 4, 6, 7, 8, 9] {
        run_shard(&out[0], number, 9, "c1");
    }
    assert_eq!(missing_all(&out).unwrap(), Missing::default());
    run_shard(&out[0], 1, 2, "c1");
    let error = missing_all(&out).unwrap_err();
    assert!(error.to_string().contains("shards of 2 and of 9"), "{error}");
}

/// It is stopped as often as it makes a run, and its last line is torn each time, as by a computer that loses its power.
#[test]
fn a_shard_that_is_killed_goes_on_with_all_runs_that_were_made() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let shard = Shard { number: 2, of: 3 };
    let want = shard.count(40);
    let settings = settings(&out, Some(shard), "c1");
    for made in 0..want {
        let plan = Plan::parse(&fake::text(""), fake::TESTBEDS).unwrap();
        let path = out.join("fake-plan").join(shard.journal());
        let rows = KeptRows::rows(&path, &plan, "1").map_or(0, |rows| 40 - rows.results.missing());
        assert!(rows >= made, "{rows} of {made} are kept");
        if rows > 0 {
            let torn = std::fs::read(&path).unwrap();
            std::fs::write(&path, [&torn[..], b"7,good,1"].concat()).unwrap();
        }
        let sentences = run_until(&settings, &fake::text(""), 1);
        let goes_on = format!("goes on; {rows} of {want} runs are there");
        assert!(rows == 0 || rows == want || sentences[0].contains(&goes_on), "{sentences:?}");
    }
    let open = missing_all(&[out]).unwrap();
    assert_eq!((open.runs, open.array()), (40 - want, "1,3".to_owned()));
}

#[test]
fn another_version_is_refused_and_another_commit_is_a_warning() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    run_shard(&out, 1, 2, "c1");
    run_shard(&out, 2, 2, "c2");
    let builds = merge_all(std::slice::from_ref(&out), &home.path().join("merged")).unwrap().builds;
    assert_eq!(builds.as_deref(), Some("1 shard by commit c1, 1 shard by commit c2, merged by commit c1"));
    let other = Settings {
        program: Program { version: "2".to_owned(), ..program("c1") },
        ..settings(&out, Some(Shard { number: 2, of: 2 }), "c1")
    };
    run_until(&other, &fake::text(""), usize::MAX);
    let error = merge_all(std::slice::from_ref(&out), &home.path().join("merged")).unwrap_err();
    assert!(error.to_string().contains("shard-2-of-2.json was made by guestright 2, this is 1"), "{error}");
    assert!(error.hint().unwrap().contains("make them again"));
    // The rows themselves say it too.
    let record = out.join("fake-plan/shard-2-of-2.json");
    let text = std::fs::read_to_string(&record).unwrap().replace("\"version\": \"2\"", "\"version\": \"1\"");
    std::fs::write(record, text).unwrap();
    let error = merge_all(&[out], &home.path().join("merged")).unwrap_err();
    assert!(error.to_string().contains("shard-2-of-2.csv was made by guestright 2"), "{error}");
}

#[test]
fn shards_of_another_plan_or_with_a_foreign_record_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    run_shard(&out, 1, 2, "c1");
    let changed = fake::text("").replace("0.07", "0.08");
    let shard = |number| settings(&out, Some(Shard { number, of: 2 }), "c1");
    run_until(&shard(2), &changed, usize::MAX);
    let error = merge_all(std::slice::from_ref(&out), &home.path().join("merged")).unwrap_err();
    assert!(error.to_string().contains("have other runs of the plan fake-plan"), "{error}");
    run_until(&shard(2), &fake::text(""), usize::MAX);
    let changes = [
        (1, "\"name\": \"fake-plan\"", "\"name\": \"../fake-plan\""),
        (1, "share = 0.07", "share = 0.09"),
        (2, "\"number\": 2", "\"number\": 1"),
        (2, "\"of\": 2", "\"of\": 4000000000"),
        (2, "{", "["),
    ];
    for (number, from, to) in changes {
        let path = out.join(format!("fake-plan/shard-{number}-of-2.json"));
        let good = std::fs::read_to_string(&path).unwrap();
        assert!(good.contains(from), "{from}");
        std::fs::write(&path, good.replacen(from, to, 1)).unwrap();
        let merged = merge_all(std::slice::from_ref(&out), &home.path().join("merged"));
        assert!(merged.is_err(), "{from} was changed to {to}");
        std::fs::write(&path, good).unwrap();
    }
    assert!(!home.path().join("merged").exists());
}

#[test]
fn shards_are_written_as_a_number_of_a_number() {
    assert_eq!("3/40".parse(), Ok(Shard { number: 3, of: 40 }));
    for text in ["", "3", "0/4", "5/4", "1/0", "1/1001", "-1/4", "1/4/2", "a/b"] {
        text.parse::<Shard>().unwrap_err();
    }
}

#[test]
fn every_run_is_in_one_shard_and_shards_are_even() {
    for runs in [0, 1, 2, 39, 40, 41, 163, 1_600, 1_601] {
        for of in 1..60 {
            let counts: Vec<usize> = (1..=of).map(|number| Shard { number, of }.count(runs)).collect();
            assert_eq!(counts.iter().sum::<usize>(), runs, "{runs} in {of}");
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            assert!(most - least <= 1, "{runs} in {of}: {counts:?}");
        }
    }
}
