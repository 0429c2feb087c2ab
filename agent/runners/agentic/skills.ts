/**
 * Extra instructions that a check can ask for by name. A skill that is not in this list is handed
 * to the model as it is written, so a skill can also be a sentence.
 */
const builtIn: Readonly<Record<string, string>> = {
  'cookie-banners':
    'When a cookie or consent banner covers the page, choose the option that accepts the least, then go on.',
  'login-forms':
    'When a login is needed, use the placeholders of the prompt for user and password, submit the form, and assert that the page shows a person who is logged in.',
  'no-side-effects':
    'Do not buy, order, send, delete or change anything. Stop before the last step that would have a lasting effect.',
  'error-messages':
    'Besides the goal, assert that no page on the way shows an error message to the visitor.',
};

/** The instruction of each skill, in order. */
export function skillInstructions(skills: readonly string[]): string[] {
  return skills.map((name) => builtIn[name] ?? name);
}
