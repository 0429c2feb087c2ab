/** The command `completion` of each program. */
export const completionCommand = {
  hasOptions: false,
  summary: 'generate shell completions for bash, zsh or fish',
  load: async () => {
    const { registerCompletion } = await import('./completion.ts');
    return (program: Parameters<typeof registerCompletion>[0]) => {
      registerCompletion(program, (script) => process.stdout.write(script));
    };
  },
};
