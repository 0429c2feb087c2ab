/**
 * The style sheet of all pages; colours come from `palette.ts`. `--g` is the colour of lines inside
 * icons.
 */
import type { Locale } from '../languages/locale.ts';
import { shownDays } from '../view/uptime.ts';

const source = `
*,:before,:after{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;background:var(--body);color:var(--text);font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;overflow-wrap:anywhere}
h1,h2,h3,p,ul,ol{margin:0;padding:0}
ul,ol{list-style:none}
h1,h2,h3{color:var(--title);line-height:1.25;font-weight:650;letter-spacing:-.011em}
h2{font-size:1.125rem}
h3{font-size:1rem}
a{color:var(--link);text-underline-offset:.18em;text-decoration-thickness:.06em}
:focus-visible{outline:3px solid var(--link);outline-offset:2px;border-radius:4px}
.wrap{max-width:54rem;margin:0 auto;padding:0 1.25rem}
.skip{position:absolute;inset-inline-start:-99rem}
.skip:focus{inset-inline-start:1rem;top:.75rem;z-index:1;padding:.6rem 1rem;background:var(--card);color:var(--card-link);border-radius:8px}
.top{background:var(--head);color:var(--head-text)}
.top .wrap{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:center;justify-content:space-between;padding-top:1rem;padding-bottom:1rem}
.top a{color:var(--head-nav);text-decoration:none;padding:.35rem 0}
.top a:hover{text-decoration:underline}
.top :focus-visible{outline-color:var(--head-focus)}
.top .brand{color:var(--head-text);font-weight:700;font-size:1.2rem;letter-spacing:-.015em}
.brand img{display:block;max-height:2.5rem;max-width:14rem}
.top nav{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;align-items:center;font-size:.95rem}
.top nav [aria-current]{color:var(--head-text);font-weight:600}
.button,.top .button{display:inline-block;border:0;border-radius:8px;padding:.55rem 1.05rem;background:var(--button);color:var(--button-text);font:inherit;font-weight:600;font-size:.95rem;cursor:pointer;text-decoration:none}
.button:hover{filter:brightness(1.08)}
main.wrap{padding-top:1.5rem;padding-bottom:1rem}
main>*+*{margin-top:2.25rem}
main>.away+*{margin-top:0}
main>.near{margin-top:1.25rem}
main:focus{outline:0}
.banner{--g:var(--glyph);display:flex;gap:1.1rem;align-items:center;padding:1.6rem 1.5rem;background:var(--tint);border:1px solid var(--tint-line);border-radius:16px;color:var(--tint-text)}
.banner h1{color:var(--tint-title);font-size:clamp(1.35rem,4.6vw,1.85rem);letter-spacing:-.022em}
.banner.unknown{background:var(--card);border-color:var(--line);color:var(--card-text)}
.banner.unknown h1{color:var(--card-title)}
.banner p{margin-top:.2rem;font-size:.95rem}
.banner .icon{color:var(--mark);width:2.9rem;height:2.9rem}
.icon{flex:none;width:1.05rem;height:1.05rem;display:block}
.icon .g,symbol .g{fill:none;stroke:var(--g);stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.panel{--g:var(--card);background:var(--card);color:var(--card-text);border:1px solid var(--line);border-radius:14px;padding:1.25rem 1.35rem}
.panel h2,.panel h3{color:var(--card-title)}
.panel a{color:var(--card-link)}
.panel :focus-visible{outline-color:var(--card-link)}
.panel .name a,.panel a.name{color:inherit;text-decoration:none}
.panel .name a:hover,.panel a.name:hover{text-decoration:underline}
.panels>*+*{margin-top:1rem}
h1+.panel,h1+p,h2+.panels,h2+p,section>.row+.panels,section>.row+p{margin-top:.85rem}
.panel>h2+p{margin-top:.3rem}
.row{display:flex;flex-wrap:wrap;gap:.15rem 1rem;align-items:center;justify-content:space-between}
.muted{color:var(--muted);font-size:.9rem}
.panel .muted{color:var(--card-muted)}
.state{display:inline-flex;gap:.45rem;align-items:center;font-weight:600;font-size:.92rem;white-space:nowrap}
.services li{padding:1.05rem 0}
.services li:target b{text-decoration:underline}
.services li+li{border-top:1px solid var(--line)}
.services li:first-child{padding-top:.9rem}
.services li:last-child{padding-bottom:0}
.services b{color:var(--card-title);font-weight:600}
.bars{display:block;width:100%;height:2.1rem;margin:.55rem 0 .35rem}
.bars .v{fill:var(--card)}
.bars .u{stroke:var(--none);stroke-width:26;stroke-dasharray:3.6 1.4}
.fold summary{color:inherit;font-weight:inherit;font-size:inherit}.fold summary .row{display:inline-flex;width:calc(100% - 1.5rem)}.fold{margin:0}
.scale{color:var(--card-muted);display:flex;align-items:center;gap:.75rem;font-size:.82rem}
.scale span{flex:1;display:flex;align-items:center;gap:.75rem;white-space:nowrap}
.scale span:before,.scale span:after{content:"";flex:1;height:1px;background:var(--line)}
[class*=edge]{border-inline-start-width:5px}
.facts{margin-top:.3rem}
.updates{margin-top:1rem}
.updates li{position:relative;padding:0 0 1.1rem;padding-inline-start:1.35rem;border-inline-start:2px solid var(--line);margin-inline-start:.3rem}
.updates li:last-child{padding-bottom:0;border-color:transparent}
.updates li:before{content:"";position:absolute;inset-inline-start:-.4rem;top:.42rem;width:.65rem;height:.65rem;border-radius:50%;background:var(--card);border:2px solid var(--card-muted)}
.updates strong{color:var(--card-title)}
.prose p+p{margin-top:.6rem}
.prose{margin-top:.2rem}
.brand,.services b,.name,.prose p,.panel h2,.panel h3,.banner h1{unicode-bidi:plaintext}
details{margin-top:1rem}
summary{cursor:pointer;color:var(--card-link);font-weight:600;font-size:.92rem}
.help summary{color:var(--link);font-weight:400}
.help p{margin-top:.4rem}
.fields{display:flex;flex-wrap:wrap;gap:.75rem;align-items:flex-end;margin-top:.9rem}
.fields label{flex:1 1 15rem;color:var(--card-title);font-weight:600;font-size:.92rem}
input:not([type=hidden],[type=checkbox]),select{display:block;width:100%;margin-top:.35rem;padding:.55rem .8rem;border:1px solid var(--field);border-radius:8px;background:var(--card);color:var(--card-text);font:inherit}
.fields .choice{flex:1 0 100%;margin:0}
.choice fieldset{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(14rem,100%),1fr));gap:0 1rem;margin:.75rem 0 0;padding:0;border:0;min-width:0}
.choice legend{padding:0;color:var(--card-muted);font-size:.88rem;unicode-bidi:plaintext}
.choice label{display:flex;gap:.6rem;align-items:center;padding:.3rem 0;font-weight:400;color:var(--card-text)}
.choice input{flex:none;width:1.1rem;height:1.1rem;margin:0;accent-color:var(--card-link)}
.choice li{margin-top:.75rem}
.subscribe+.subscribe{margin-top:1rem}
code{display:block;margin-top:.5rem;padding:.5rem .8rem;border:1px solid var(--line);border-radius:8px;font:.85rem/1.5 ui-monospace,monospace;-webkit-user-select:all;user-select:all}
.error{color:var(--w0);font-weight:600;margin-top:.75rem}
.months{display:flex;flex-wrap:wrap;justify-content:space-between;gap:.5rem 1rem}
.narrow{max-width:30rem;margin:12vh auto 0}
.narrow p{margin-top:.6rem}
.narrow h1{color:var(--card-title);font-size:1.5rem}
footer{padding:1.25rem 0 2.5rem;font-size:.88rem;color:var(--muted)}
footer nav{display:flex;flex-wrap:wrap;gap:.25rem 1rem}
footer nav [aria-current]{color:inherit;text-decoration:none}
footer .wrap{display:flex;flex-wrap:wrap;gap:.4rem 1.25rem;justify-content:space-between}
.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.away{position:absolute;width:0;height:0}
.s0{color:var(--s0)}.s1{color:var(--s1)}.s2{color:var(--s2)}.s3{color:var(--s3)}.s4{color:var(--s4)}
.w0{color:var(--w0)}.w1{color:var(--w1)}.w2{color:var(--w2)}.w3{color:var(--w3)}.w4{color:var(--w4)}
.f0{fill:var(--s0)}.f1{fill:var(--s1)}.f2{fill:var(--s2)}.f3{fill:var(--s3)}.f4,#q rect{fill:var(--s4)}
#q rect{width:3.6px;height:26px;y:4px}
.bars>rect{width:3.6px;height:34px}
.edge0{border-inline-start-color:var(--s0)}.edge1{border-inline-start-color:var(--s1)}.edge2{border-inline-start-color:var(--s2)}.edge3{border-inline-start-color:var(--s3)}
@media(max-width:30rem){.scale,.scale span{gap:.45rem}.scale{font-size:.76rem}#q rect,.bars>rect{width:3.1px}.banner{padding:1.25rem 1.1rem}.panel{padding:1.05rem 1rem}.banner .icon{width:2.4rem;height:2.4rem}}
@media(prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
@media print{.top nav,.skip,.subscribe,footer a{display:none}body{background:#fff}.panel,.banner{break-inside:avoid}}
`;

const styleSheet = source.trim().replace(/\n/g, '');

/** From right to left, and for letters that are joined. */
const rightToLeft =
  '.bars{transform:scaleX(-1)}h1,h2,h3,.top .brand,.banner h1{letter-spacing:normal}';

/** Minified; the same for every page of a language. The bars begin where a line of text does. */
export function styleSheetOf(locale: Locale): string {
  const { today } = locale.texts.uptime;
  const ago = locale.daysAgo(shownDays);
  const first = ago.charAt(0).toLocaleUpperCase(locale.language) + ago.slice(1);
  const turned = locale.direction === 'rtl' ? rightToLeft : '';
  return `${styleSheet}${turned}.scale:before{content:"${first}"}.scale:after{content:"${today}"}`;
}
