/** The console: signs somebody in, then shows the view that the address names. */
import { html, render, useEffect, useState } from './dom.js';
import { Shell } from './parts/shell.js';
import { onSessionChange, session } from './session.js';
import { SignIn } from './views/sign-in.js';

function App() {
  const [current, setCurrent] = useState(session);
  useEffect(() => onSessionChange(() => setCurrent(session())), []);
  return current === null ? html`<${SignIn} />` : html`<${Shell} key=${current.key} />`;
}

render(html`<${App} />`, document.getElementById('app'));
