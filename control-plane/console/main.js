/** Entry of the console: signs the user in, then shows the view of the address. */
import { html, render, useEffect, useState } from './dom.js';
import { UnreachableNotice } from './parts/notices.js';
import { Shell } from './parts/shell.js';
import { onReachabilityChange } from './reachable.js';
import { findSession, isSignedIn, onSessionChange } from './session.js';
import { SignIn } from './views/sign-in.js';

function App() {
  const [current, setCurrent] = useState(isSignedIn);
  useEffect(() => {
    const look = () => {
      if (isSignedIn() === undefined) findSession().catch(() => {});
    };
    const ends = [onSessionChange(() => setCurrent(isSignedIn())), onReachabilityChange(look)];
    look();
    return () => ends.forEach((end) => end());
  }, []);
  if (current === undefined) return html`<${UnreachableNotice} />`;
  return current ? html`<${Shell} />` : html`<${SignIn} />`;
}

const place = document.getElementById('app');
if (place !== null) render(html`<${App} />`, place);
