/** This browser, among the devices of the person. */
import { call } from './api.ts';
import { hashOf, present } from './push.ts';

export const devicesPath = 'v1/users/me/devices';

/** Registers this browser. A device that is registered already is bound to the present session. */
export async function addThis(
  name: string,
  { endpoint = '', keys: { p256dh = '', auth = '' } = {} }: PushSubscriptionJSON,
) {
  const subscription = { endpoint, keys: { p256dh, auth } };
  await call(devicesPath, { method: 'POST', body: { name, subscription } });
}

/** Binds the device to the present session, so that ending an earlier session does not remove it. */
export async function bindThis() {
  const subscription = await present();
  if (subscription === null) return;
  const [hash, { data }] = await Promise.all([hashOf(subscription), call(devicesPath)]);
  const own = data.devices.find(({ endpointHash }) => endpointHash === hash);
  if (own?.isOfThisSession === false) await addThis(own.name, subscription.toJSON());
}
