/** Sends messages that the control plane has made: requests to webhooks, and mails. */
import type { PreparedMessage } from '@monitor/shared/contract/control-plane-watch.ts';
import { request, type Dispatcher } from 'undici';

const sentWithinMs = 20_000;
const readyWithinMs = 10_000;

/** Whether the control plane answers, and its database too. */
export async function isReady(baseUrl: string, dispatcher: Dispatcher): Promise<boolean> {
  try {
    const { statusCode, body } = await request(`${baseUrl}/-/readiness`, {
      dispatcher,
      signal: AbortSignal.timeout(readyWithinMs),
    });
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  }
}

/** Throws with a reason that names no address: it may be a secret. */
export async function sendMessage(message: PreparedMessage, dispatcher: Dispatcher): Promise<void> {
  if (message.kind === 'mail') {
    const { createTransport } = await import('nodemailer');
    const { server, from, to, subject, text, html } = message;
    const transport = createTransport({
      url: server,
      connectionTimeout: sentWithinMs,
      greetingTimeout: sentWithinMs,
      socketTimeout: sentWithinMs,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    try {
      await transport.sendMail({ from, to, subject, text, html });
    } finally {
      transport.close();
    }
    return;
  }
  const { method, url, headers, body } = message;
  const { statusCode, body: answer } = await request(url, {
    ...{ method: method as Dispatcher.HttpMethod, dispatcher },
    headers: headers.flat(),
    body: body === null ? null : Buffer.from(body, 'base64'),
    signal: AbortSignal.timeout(sentWithinMs),
  });
  await answer.dump({ limit: 65_536 });
  if (statusCode >= 300) throw new Error(`it answered ${statusCode}`);
}
