/**
 * The environment of this process, which is read here only. It stands apart from the settings, because a program that
 * starts itself anew has no use for them before.
 */
export const processEnvironment: Readonly<Record<string, string | undefined>> = process.env;
