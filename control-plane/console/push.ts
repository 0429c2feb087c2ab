/** Notifications of this browser: the worker that shows them, and where they are sent to. */

/** Why there are none here; empty where there may be. */
export function pushProblem() {
  if (!isSecureContext) return 'Notifications need HTTPS: open the console at an https:// address.';
  if ('PushManager' in window && 'serviceWorker' in navigator) {
    return Notification.permission === 'denied'
      ? 'Notifications of this site are blocked. Allow them in the settings of the browser.'
      : '';
  }
  return /iPhone|iPad/.test(navigator.userAgent)
    ? 'Add the console to the home screen (Share, then Add to Home Screen), and open it from there.'
    : 'This browser does not support push notifications.';
}

export async function present() {
  const registration = await navigator.serviceWorker?.getRegistration();
  return (await registration?.pushManager?.getSubscription()) ?? null;
}

/** As the server names this browser. */
export async function hashOf(subscription: PushSubscription) {
  const endpoint = new TextEncoder().encode(subscription.endpoint);
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', endpoint));
  return [...hash].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Nothing more is sent to this browser, for anybody. */
export async function unsubscribe() {
  await (await present())?.unsubscribe();
}

/** The key of the server that may send to it, as that server writes it. */
function keyOf({ options: { applicationServerKey: key } }: PushSubscription) {
  const text = btoa(String.fromCharCode(...new Uint8Array(key ?? new ArrayBuffer())));
  return text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** Asks the person. Gives where notifications are sent to, or the reason why there are none. */
export async function subscribe(publicKey: string) {
  if ((await Notification.requestPermission()) !== 'granted') {
    return { problem: 'You have not allowed notifications.' };
  }
  await navigator.serviceWorker.register('service-worker.js');
  const { pushManager } = await navigator.serviceWorker.ready;
  try {
    // The same for all accounts: another one would end what is on in them.
    const before = await pushManager.getSubscription();
    if (before !== null && keyOf(before) === publicKey) return { subscription: before.toJSON() };
    await before?.unsubscribe();
    const options = { userVisibleOnly: true, applicationServerKey: publicKey };
    return { subscription: (await pushManager.subscribe(options)).toJSON() };
  } catch {
    return { problem: 'The push service of this browser cannot be reached.' };
  }
}
