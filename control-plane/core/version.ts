import packageJson from '../package.json' with { type: 'json' };

/** Version of this control plane. */
export const version: string = packageJson.version;
