import packageJson from './package.json' with { type: 'json' };

/** Version of this agent. */
export const version: string = packageJson.version;
