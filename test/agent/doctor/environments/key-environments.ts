/** Keys and settings. */
import { protocolVersion } from '@monitor/shared/contract/agent-protocol.ts';
import { refusalBy } from '../../../support/fake-control-plane.ts';
import type { Environment } from './environment.ts';

export const keyEnvironments: readonly Environment[] = [
  {
    name: 'API_KEY is not set',
    needs: 'nothing',
    first: { id: 'key', verdict: 'fail' },
    evidence: ['API_KEY is not set'],
    fix: ['make a key for the private location'],
    make: ({ settings }) => {
      delete settings['API_KEY'];
    },
  },
  {
    name: 'API_KEY has quotes around it, as env files of docker leave them',
    needs: 'nothing',
    first: { id: 'settings', verdict: 'fail' },
    evidence: ['has quotes around it'],
    fix: ['quotes are not removed'],
    make: ({ settings }) => {
      settings['API_KEY'] = `"${settings['API_KEY']}"`;
    },
  },
  {
    name: 'API_KEY_FILE has a line more than the key',
    needs: 'nothing',
    isSlow: true,
    first: { id: 'settings', verdict: 'fail' },
    evidence: ['has more than one line'],
    fix: ['write the key and nothing else'],
    make: (ground) => {
      ground.settings['API_KEY_FILE'] = ground.file(
        'key',
        `# key\n${ground.settings['API_KEY']}\n`,
      );
      delete ground.settings['API_KEY'];
    },
  },
  {
    name: 'API_KEY_FILE does not exist',
    needs: 'nothing',
    isSlow: true,
    first: { id: 'settings', verdict: 'fail' },
    evidence: ['/run/secrets/api-key', 'no such file'],
    fix: ['correct it'],
    make: ({ settings }) => {
      delete settings['API_KEY'];
      settings['API_KEY_FILE'] = '/run/secrets/api-key';
    },
  },
  {
    name: 'API_KEY is a key of the API in place of one of a location',
    needs: 'nothing',
    first: { id: 'settings', verdict: 'fail' },
    evidence: ['is a key of the API'],
    fix: ['write the key'],
    make: ({ settings }) => {
      settings['API_KEY'] = 'cu_0123456789abcdef0123456789abcdef';
    },
  },
  {
    name: 'the key was revoked',
    needs: 'nothing',
    first: { id: 'key', verdict: 'fail' },
    evidence: ['refuses pl_…3210', 'revoked'],
    fix: ['make a key'],
    make: ({ settings }) => {
      settings['API_KEY'] = `pl_${'fedcba9876543210'.repeat(4)}`;
    },
  },
  {
    name: 'the agent is too old for the control plane',
    needs: 'nothing',
    first: { id: 'protocol', verdict: 'fail' },
    evidence: [`the agent protocol ${protocolVersion}: the agent is the older one`],
    fix: ['upgrade this agent'],
    make: ({ controlPlane }) => {
      controlPlane.misbehave(
        'all',
        refusalBy({ oldest: protocolVersion + 1, newest: protocolVersion + 2 }),
      );
    },
  },
  {
    name: 'the control plane is too old for the agent',
    needs: 'nothing',
    isSlow: true,
    first: { id: 'protocol', verdict: 'fail' },
    evidence: ['the control plane is the older one'],
    fix: ['upgrade the control plane'],
    make: ({ controlPlane }) => {
      controlPlane.misbehave('all', refusalBy({ oldest: 0, newest: 0 }));
    },
  },
  {
    name: 'CONTROL_PLANE_URL is not an address',
    needs: 'nothing',
    isSlow: true,
    first: { id: 'settings', verdict: 'fail' },
    evidence: ['must be an http or https URL'],
    fix: ['correct it'],
    make: ({ settings }) => {
      settings['CONTROL_PLANE_URL'] = 'monitor.example.com';
    },
  },
];
