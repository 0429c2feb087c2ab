/** Entry of the console: signs the user in, then shows the view of the address. */
import { html, render, useEffect, useState } from './dom.js';
import { UnreachableNotice } from './parts/notices.js';
import { Shell } from './parts/shell.js';
import { onReachabilityChange } from './reachable.js';
import { useRoute } from './router.js';
import { findSession, isSignedIn, onSessionChange } from './session.js';
import { LinkPage } from './views/people-link.js';
import { Forgotten, SignIn } from './views/sign-in.js';

/** The pages of one-time links. They open also while another person is signed in. */
const linkPages = ['setup', 'invitation', 'reset'];

function App() {
  const [current, setCurrent] = useState(isSignedIn);
  const { parts, query } = useRoute();
  const [place = ''] = parts;
  useEffect(() => {
    const look = () => {
      if (isSignedIn() === undefined) findSession().catch(() => {});
    };
    const ends = [onSessionChange(() => setCurrent(isSignedIn())), onReachabilityChange(look)];
    look();
    return () => ends.forEach((end) => end());
  }, []);
  if (current === undefined) return html`<${UnreachableNotice} />`;
  if (linkPages.includes(place)) return html`<${LinkPage} token=${query.token} />`;
  if (current) return html`<${Shell} />`;
  return place === 'forgotten' ? html`<${Forgotten} />` : html`<${SignIn} />`;
}

const place = document.getElementById('app');
if (place !== null) render(html`<${App} />`, place);
