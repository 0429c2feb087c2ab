/**
 * Shows the notifications of this device, and acknowledges from them. It keeps no pages: nothing works without a
 * connection.
 */

/** `notifications/push.ts` makes it. Addresses are beside the console. */
interface Payload {
  title: string;
  body: string;
  tag: string;
  open: string;
  acknowledge: string | null;
}

/** What is used here of the types of workers, which contradict those of pages. */
interface Scope {
  registration: ServiceWorkerRegistration;
  clients: { openWindow(url: URL): Promise<unknown> };
  skipWaiting(): Promise<void>;
  addEventListener(type: 'install', listener: () => void): void;
  addEventListener(type: 'pushsubscriptionchange', listener: (event: ChangeEvent) => void): void;
  addEventListener(type: 'push', listener: (event: PushEvent) => void): void;
  addEventListener(type: 'notificationclick', listener: (event: ClickEvent) => void): void;
}
interface WorkerEvent {
  waitUntil(work: Promise<unknown>): void;
}
interface PushEvent extends WorkerEvent {
  data: { json(): Payload } | null;
}
interface ChangeEvent extends WorkerEvent {
  oldSubscription: PushSubscription | null;
  newSubscription: PushSubscription | null;
}
interface ClickEvent extends WorkerEvent {
  action: string;
  notification: Notification;
}

const worker = self as unknown as Scope;
const besideConsole = (path: string) => new URL(`../${path}`, worker.registration.scope);

function show(payload: Payload): Promise<void> {
  const { title, body, tag, acknowledge } = payload;
  const options = {
    ...{ body, tag, data: payload, icon: 'icon.png' },
    // Something new in the place of what was there rings again.
    renotify: true,
    requireInteraction: acknowledge !== null,
    actions: [
      ...(acknowledge === null ? [] : [{ action: 'acknowledge', title: 'Acknowledge' }]),
      { action: 'open', title: 'Open' },
    ],
  };
  return worker.registration.showNotification(title, options);
}

/** Says what became of it. Without an answer it can be tried again. */
async function acknowledge(payload: Payload, path: string) {
  try {
    const answer = await fetch(besideConsole(path), {
      method: 'POST',
      headers: { accept: 'application/json' },
      credentials: 'omit',
    });
    const { title = 'Not acknowledged', text, message } = await answer.json();
    const isOver = answer.ok || answer.status === 404;
    const body = text ?? message ?? '';
    await show({ ...payload, title, body, acknowledge: isOver ? null : path });
  } catch {
    await show({ ...payload, title: 'Not acknowledged', body: 'The server cannot be reached.' });
  }
}

function callDevices(path: string, init: RequestInit = {}) {
  const headers = { 'x-console': '1', 'content-type': 'application/json' };
  return fetch(besideConsole(`v1/users/me/devices${path}`), { ...init, headers });
}

/**
 * The push service has given this device another address. Where it cannot be passed on, the old one is removed with the
 * next notification, and the profile offers to turn the device on.
 */
async function moveDevice({ oldSubscription: old, newSubscription }: ChangeEvent) {
  if (old === null) return;
  const made = newSubscription ?? (await worker.registration.pushManager.subscribe(old.options));
  const endpoint = new TextEncoder().encode(old.endpoint);
  // A file that the page has, too, would be a chunk, which a worker that is no module cannot import.
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', endpoint));
  const hash = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  const { devices } = await (await callDevices('')).json();
  const known = devices.find((each: { endpointHash: string }) => each.endpointHash === hash);
  // Who has removed it does not want it back.
  if (known === undefined) return;
  const { endpoint: next, keys } = made.toJSON();
  const body = JSON.stringify({ name: known.name, subscription: { endpoint: next, keys } });
  const { ok } = await callDevices('', { method: 'POST', body });
  if (ok) await callDevices(`/${known.id}`, { method: 'DELETE' });
}

worker.addEventListener('install', () => void worker.skipWaiting());

worker.addEventListener('pushsubscriptionchange', (event) => {
  event.waitUntil(moveDevice(event).catch(() => {}));
});

worker.addEventListener('push', (event) => {
  if (event.data !== null) event.waitUntil(show(event.data.json()));
});

worker.addEventListener('notificationclick', (event) => {
  const { action, notification } = event;
  const payload = notification.data as Payload;
  const { acknowledge: path, open } = payload;
  notification.close();
  if (action === 'acknowledge' && path !== null) {
    event.waitUntil(acknowledge(payload, path));
    return;
  }
  // Where notifications have no buttons, the page of the link has one.
  const hasButtons = 'actions' in notification;
  event.waitUntil(worker.clients.openWindow(besideConsole(hasButtons ? open : (path ?? open))));
});
