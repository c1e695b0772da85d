//! Plans and testbeds, as programs read them.

use crate::plan_files::Source;
use guestright_experiment::{Plan, SettingInfo, Testbed};
use serde_json::{Value, json};

/// A plan: its texts, and how much there is of it.
pub fn plan(source: &Source, plan: &Plan) -> Value {
    let named = |(id, title)| json!({ "id": id, "title": title });
    let figures: Vec<Value> = plan.figures().map(named).collect();
    let maps: Vec<Value> = plan.maps().map(named).collect();
    json!({
        "plan": source.name,
        "name": plan.name(),
        "title": plan.title(),
        "question": plan.question(),
        "source": plan.source(),
        "testbed": plan.testbed().name(),
        "cases": plan.cases().collect::<Vec<_>>(),
        "axes": plan.axes().collect::<Vec<_>>(),
        "runs": plan.run_count(),
        "quick_runs": plan.quick().run_count(),
        "claims": plan.claims(),
        "figures": figures,
        "maps": maps,
    })
}

/// A testbed: what can be set, and what is measured.
pub fn testbed(testbed: &dyn Testbed) -> Value {
    let setting = |info: &SettingInfo| {
        json!({
            "name": info.name,
            "unit": info.unit,
            "default": info.default(),
            "wanted": info.wanted(),
            "about": info.about,
        })
    };
    let metrics: Vec<Value> = testbed
        .metrics()
        .iter()
        .map(|metric| json!({ "name": metric.name, "unit": metric.unit, "about": metric.about }))
        .collect();
    json!({
        "name": testbed.name(),
        "about": testbed.describe(),
        "settings": testbed.settings().iter().map(setting).collect::<Vec<_>>(),
        "metrics": metrics,
    })
}
