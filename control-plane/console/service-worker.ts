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
  addEventListener(type: 'push', listener: (event: PushEvent) => void): void;
  addEventListener(type: 'notificationclick', listener: (event: ClickEvent) => void): void;
}
interface WorkerEvent {
  waitUntil(work: Promise<unknown>): void;
}
interface PushEvent extends WorkerEvent {
  data: { json(): Payload } | null;
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

worker.addEventListener('install', () => void worker.skipWaiting());

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
