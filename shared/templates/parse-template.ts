/**
 * Handlebars reads the template; whoever completes it walks the tree this gives. Its compiler is left
 * out on purpose: templates and values come from customers, and a compiled template is code in this
 * process, whose size and time nothing bounds.
 */
import Handlebars from 'handlebars';
import { TemplateError } from './template-error.ts';

const rememberedTemplates = 1_000;
/** Larger ones are bodies, where reading costs little beside the exchange itself. */
const rememberedLength = 16_384;

/** Reading takes time that grows faster than what is read, in the process that times everything else. */
const maxTags = 1_000;
const maxTagLength = 2_000;
const maxOpenBlocks = 50;

const remembered = new Map<string, hbs.AST.Program>();

function checkSize(source: string): void {
  let tags = 0;
  let open = 0;
  for (let at = source.indexOf('{{'); at >= 0; at = source.indexOf('{{', at + 2)) {
    tags += 1;
    if (tags > maxTags) throw new TemplateError(`it has more than ${maxTags} tags "{{"`);
    const end = source.indexOf('}}', at);
    if (end - at > maxTagLength) {
      throw new TemplateError(`it has a tag of more than ${maxTagLength} characters`);
    }
    if (/^\{\{~?(#|\^(?!~?\}))/.test(source.slice(at, at + 5))) open += 1;
    if (/^\{\{~?\//.test(source.slice(at, at + 4))) open -= 1;
    if (open > maxOpenBlocks) {
      throw new TemplateError(`it is nested more than ${maxOpenBlocks} blocks deep`);
    }
  }
}

/** The tree of a template. Throws TemplateError. */
export function parseTemplate(source: string): hbs.AST.Program {
  const known = remembered.get(source);
  if (known !== undefined) return known;
  checkSize(source);
  let program: hbs.AST.Program;
  try {
    program = Handlebars.parse(source);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new TemplateError(reason.slice(0, 500), { cause: error });
  }
  if (source.length <= rememberedLength) {
    if (remembered.size >= rememberedTemplates) remembered.clear();
    remembered.set(source, program);
  }
  return program;
}
