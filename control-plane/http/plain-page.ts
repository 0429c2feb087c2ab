/** Pages outside the console, without script: those of links in messages, and refusals. */
import type { Response } from 'express';
import { html, type Markup } from '../core/html.ts';

/** The colours of the console, which these pages must not load. */
const style = `
:root{color-scheme:light dark;--page:#f6f7f9;--surface:#fff;--ink:#161b26;--muted:#56606f;--line:#dfe3ea;--accent:#1a56c4;--on-accent:#fff;--bad:#c01f32}
@media (prefers-color-scheme:dark){:root{--page:#0e1116;--surface:#151a21;--ink:#e5e9f0;--muted:#9aa5b4;--line:#29313c;--accent:#7db0ff;--on-accent:#0b1830;--bad:#ff8a8f}}
*{box-sizing:border-box}
body{font:16px/1.5 system-ui,sans-serif;margin:0;padding:1rem;min-height:100vh;display:grid;place-items:center;background:var(--page);color:var(--ink)}
main{width:100%;max-width:30rem;padding:1.5rem;background:var(--surface);border:1px solid var(--line);border-radius:12px}
h1{font-size:1.25rem;line-height:1.3;margin:0 0 1rem}
h1,dd{overflow-wrap:anywhere}
dl{margin:0 0 1rem;padding:1rem 0;border-block:1px solid var(--line)}
dt{color:var(--muted);font-size:.875rem}
dd{margin:0 0 .75rem}
dd:last-child{margin:0}
.bad{color:var(--bad)}
button{font:inherit;font-weight:600;width:100%;min-height:2.75rem;padding:.6rem 1.2rem;border:0;border-radius:8px;background:var(--accent);color:var(--on-accent);cursor:pointer}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
a{color:var(--accent)}
`;

/** `body` follows the title, which is escaped. */
export function sendPage(response: Response, status: number, title: string, body: Markup): void {
  response
    .status(status)
    .set({
      'Content-Type': 'text/html; charset=utf-8',
      'Cache-Control': 'no-store',
      'Referrer-Policy': 'no-referrer',
      'Content-Security-Policy':
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    })
    .send(
      html`<!doctype html>
        <html lang="en">
          <head>
            <meta charset="utf-8" />
            <meta name="viewport" content="width=device-width, initial-scale=1" />
            <meta name="robots" content="noindex" />
            <title>${title}</title>
            <style>
              ${style}
            </style>
          </head>
          <body>
            <main>
              <h1>${title}</h1>
              ${body}
            </main>
          </body>
        </html>`.text,
    );
}
