/** Keys and settings. */
import { protocolVersion } from '@monitor/shared/contract/agent-protocol.ts';
import { refusalBy } from '../../../support/fake-control-plane.ts';
import { anywhere, slow, type Making } from './environment.ts';

const withKey = (change: (key?: string) => string): Making =>
  anywhere(({ settings }) => {
    settings['API_KEY'] = change(settings['API_KEY']);
  });
const speaking = (versions: Parameters<typeof refusalBy>[0]): Making =>
  anywhere(({ controlPlane }) => {
    controlPlane.misbehave('all', refusalBy(versions));
  });

export const keyEnvironments: Readonly<Record<string, Making>> = {
  'API_KEY is not set': anywhere(({ settings }) => {
    delete settings['API_KEY'];
  }),
  'API_KEY has quotes around it, as env files of docker leave them': slow(
    withKey((key) => `"${key}"`),
  ),
  'API_KEY_FILE has a line more than the key': slow(
    anywhere((ground) => {
      const { API_KEY: key } = ground.settings;
      ground.settings['API_KEY_FILE'] = ground.file('key', `# key\n${key}\n`);
      delete ground.settings['API_KEY'];
    }),
  ),
  'API_KEY_FILE does not exist': slow(
    anywhere(({ settings }) => {
      delete settings['API_KEY'];
      settings['API_KEY_FILE'] = '/run/secrets/api-key';
    }),
  ),
  'API_KEY is a key of the API in place of one of a location': slow(
    withKey(() => 'cu_0123456789abcdef0123456789abcdef'),
  ),
  'the key was revoked': withKey(() => `pl_${'fedcba9876543210'.repeat(4)}`),
  'the agent is too old for the control plane': speaking({
    ...{ oldest: protocolVersion + 1, newest: protocolVersion + 2 },
  }),
  'the control plane is too old for the agent': slow(speaking({ oldest: 0, newest: 0 })),
  'CONTROL_PLANE_URL is not an address': slow(
    anywhere(({ settings }) => {
      settings['CONTROL_PLANE_URL'] = 'monitor.example.com';
    }),
  ),
};
