use guestright_experiment::*;
use std::sync::atomic::{AtomicUsize, Ordering};
fn main() {
    let mut quick = false; let mut plans = vec![]; let mut html = None; let mut seeds: Option<u32> = None;
    let mut args = std::env::args().skip(1);
    while let Some(a) = args.next() { match a.as_str() { "--quick" => quick = true, "--html" => html = args.next(), "--seeds" => seeds = args.next().map(|s| s.parse().unwrap()), _ => plans.push(a) } }
    let mut evals = vec![];
    for path in plans {
        let text = std::fs::read_to_string(&path).unwrap();
        let plan = match Plan::parse(&text, guestright_world::testbeds()) { Ok(p) => p, Err(e) => { eprintln!("{path}: {e}"); std::process::exit(1) } };
        let mut plan = if quick { plan.quick() } else { plan };
        if let Some(s) = seeds { plan = plan.with_seeds(s).unwrap(); }
        let runs: Vec<_> = plan.runs().collect();
        let t = std::time::Instant::now();
        let next = AtomicUsize::new(0);
        let out = std::sync::Mutex::new(vec![]);
        std::thread::scope(|s| { for _ in 0..2 { s.spawn(|| loop { let i = next.fetch_add(1, Ordering::SeqCst); if i >= runs.len() { break } let o = plan.run(&runs[i]).unwrap(); out.lock().unwrap().push((i, o)); }); } });
        let mut results = Results::new(&plan);
        for (i, o) in out.into_inner().unwrap() { results.record(&plan, &runs[i], &o).unwrap(); }
        let e = evaluate(&plan, &results, Platform::Sim);
        println!("{}", e.text());
        println!("== {} {} runs {:?}", plan.name(), runs.len(), t.elapsed());
        evals.push(e);
    }
    if let Some(dir) = html { for e in &evals { for f in &e.figures { std::fs::write(format!("{dir}/{}.svg", f.id), f.svg().unwrap()).unwrap(); } } }
}
