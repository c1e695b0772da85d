//! How a report looks: on paper, on a telephone, light and dark.

/// Colours carry nothing that is not also said in words.
pub(super) const STYLE: &str = "\
:root{color-scheme:light dark;--ground:#fff;--text:#1b1f24;--soft:#59636e;--line:#d4d9df;--panel:#f5f7f9;--link:#0a58a8;
--good:#0b6b3a;--good-ground:#e2f4ea;--bad:#a31515;--bad-ground:#fde8e8;--open:#7a4b00;--open-ground:#fdf1d8;--said:#2b4c8c;--said-ground:#e6edf9}
@media (prefers-color-scheme:dark){:root{--ground:#14171b;--text:#e8eaed;--soft:#a3abb5;--line:#363c44;--panel:#1d2227;--link:#7ab8f5;
--good:#7fdca6;--good-ground:#12321f;--bad:#ff9d9d;--bad-ground:#3d1818;--open:#f2c879;--open-ground:#3a2c0d;--said:#a9c4f5;--said-ground:#1c2a45}}
*{box-sizing:border-box}html{scroll-padding-top:3.2rem}
body{margin:0;background:var(--ground);color:var(--text);font:16px/1.5 system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif}
a{color:var(--link)}h1{font-size:1.7rem;line-height:1.2;margin:.2rem 0 .6rem}h2{font-size:1.35rem;margin:2.6rem 0 .4rem;line-height:1.25}
h3{font-size:1.08rem;margin:1.8rem 0 .5rem}p{margin:.5rem 0;max-width:46rem}.lead{color:var(--soft);font-size:1.05rem}
nav{background:var(--panel);padding:.45rem 1rem}nav.top{position:sticky;top:0;z-index:2;border-bottom:1px solid var(--line)}
nav.side{display:none}nav summary,nav p{cursor:pointer;font-weight:600}nav ol{margin:.4rem 0;padding-left:1.4rem}nav ol ol{font-size:.92em}
nav.top details>ol{max-height:70vh;overflow:auto}
main{max-width:84rem;margin:0 auto;padding:1rem}
.soft{color:var(--soft)}.scroll{overflow-x:auto;max-width:100%}
table{border-collapse:collapse;font-size:.92rem;margin:.4rem 0}th,td{padding:.3rem .6rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
th{font-weight:600;border-bottom-width:2px}td.number,th.number{text-align:right;font-variant-numeric:tabular-nums}
td.published{color:var(--soft);font-style:italic}td small,li small,summary small{display:block;color:var(--soft)}
.verdict{display:inline-block;padding:.06rem .5rem;border-radius:.7rem;font-weight:600;font-size:.9rem;white-space:nowrap}
.reproduces{color:var(--good);background:var(--good-ground)}.does-not-reproduce{color:var(--bad);background:var(--bad-ground)}
.cannot-be-computed{color:var(--open);background:var(--open-ground)}.prediction{color:var(--said);background:var(--said-ground)}
.claims h2{margin-top:1.2rem}.claims td,.claims th{padding:.16rem .6rem;white-space:nowrap}.claims .of th{background:var(--panel);border-bottom-width:1px;white-space:normal}
.claims td{font-variant-numeric:tabular-nums}.claims td:nth-child(2),.claims td:nth-child(3){max-width:11.5rem;overflow:hidden;text-overflow:ellipsis}.what>div{width:clamp(12rem,28vw,30rem);overflow:hidden;text-overflow:ellipsis}
.filter{border:0;padding:0;margin:.6rem 0;display:flex;flex-wrap:wrap;gap:.4rem;align-items:center}.filter legend{float:left;padding:0;margin-right:.2rem}
.filter input{position:absolute;opacity:0}.filter label{border:1px solid var(--line);border-radius:1rem;padding:.15rem .75rem;cursor:pointer;font-size:.92rem}
.filter input:checked+label{background:var(--text);color:var(--ground);border-color:var(--text)}.filter input:focus-visible+label{outline:2px solid var(--link);outline-offset:2px}
@supports not selector(:has(a)){.filter{display:none}}
.claims:has(#show-reproduces:checked) :is(tr[class^='is-']:not(.is-reproduces),tbody:not(:has(.is-reproduces))),
.claims:has(#show-does-not-reproduce:checked) :is(tr[class^='is-']:not(.is-does-not-reproduce),tbody:not(:has(.is-does-not-reproduce))),
.claims:has(#show-cannot-be-computed:checked) :is(tr[class^='is-']:not(.is-cannot-be-computed),tbody:not(:has(.is-cannot-be-computed))),
.claims:has(#show-prediction:checked) :is(tr[class^='is-']:not(.is-prediction),tbody:not(:has(.is-prediction))){display:none}
.claim{border:1px solid var(--line);border-radius:.5rem;padding:.35rem .8rem;margin:.35rem 0;background:var(--panel)}.claim p{margin:.25rem 0}
.fold{margin:.8rem 0}.fold>summary{font-weight:600}
.tag{display:inline-block;border:1px solid var(--line);border-radius:.7rem;padding:0 .5rem;font-size:.84rem;white-space:nowrap}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,34rem),1fr));gap:0 1.5rem;align-items:start}
figure{margin:1rem 0;min-width:0}figure .picture{overflow-x:auto}figure svg{max-width:100%;min-width:34rem;height:auto;display:block}
figcaption{color:var(--soft);font-size:.92rem;max-width:46rem}details>summary{cursor:pointer}details.rows{margin:.3rem 0;font-size:.92rem}
.wide{max-height:26rem;overflow:auto}dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:.5rem 0}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
@media (max-width:40rem){main{padding:.7rem}h1{font-size:1.4rem}dl{grid-template-columns:1fr}dd{margin-bottom:.4rem}}
@media (min-width:86rem){nav.top{display:none}
nav.side{display:block;position:fixed;top:0;bottom:0;left:0;width:17rem;overflow:auto;border-right:1px solid var(--line)}body{padding-left:17rem}html{scroll-padding-top:.5rem}}
@media print{nav,.filter{display:none}body{padding:0}.claim,figure,tr{break-inside:avoid}.wide{max-height:none}details::details-content{content-visibility:visible;block-size:auto}}
";
