/** What the YAML parser complains about, without the words of the engine for what is nested too deeply. */
export function yamlProblem(message: string): string {
  return message.replace(/^Maximum call stack\D*exceeded/, 'nested too deeply');
}
