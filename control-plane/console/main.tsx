/** Entry of the console: signs the user in, then shows the view of the address. */
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { late } from './parts/late.tsx';
import { UnreachableNotice } from './parts/notices.tsx';
import { Shell } from './parts/shell.tsx';
import { onReachabilityChange } from './reachable.ts';
import { returnToPlace, useRoute } from './router.ts';
import { findSession, isSignedIn, onSessionChange } from './session.ts';
import { Forgotten, SignIn } from './views/sign-in.tsx';
import './theme.ts';

const LinkPage = late(() => import('./views/people-link.tsx').then((all) => all.LinkPage));

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
  useEffect(() => {
    if (current) returnToPlace();
  }, [current]);
  if (current === undefined) return <UnreachableNotice />;
  if (linkPages.includes(place)) return <LinkPage token={query.token} />;
  if (current) return <Shell />;
  return place === 'forgotten' ? <Forgotten /> : <SignIn />;
}

const place = document.getElementById('app');
if (place !== null) render(<App />, place);
