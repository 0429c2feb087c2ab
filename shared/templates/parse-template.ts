/**
 * Parses templates with Handlebars; callers walk the tree. The Handlebars compiler is not used on
 * purpose: templates and values come from customers, and a compiled template is code in this
 * process, without limits of size and time.
 */
import Handlebars from 'handlebars';
import { TemplateError } from './template-error.ts';

const rememberedTemplates = 1_000;
/** Longer templates are not cached: they are bodies, and parsing costs little beside the exchange. */
const rememberedLength = 16_384;

/** Parsing takes more than linear time, in the process that times all checks. */
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
