/** The parts of AWorld's files that agents are made of, whatever dialect they are written in. */
import { z } from 'zod';
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import { StudioError } from '../../common/errors.ts';
import { parseFile } from '../source/parse.ts';
import { hasErrors, problemsError } from '../source/problem.ts';

/** An agent with all that was said of it. */
export interface SourceAgent {
  readonly name: string;
  readonly fields: JsonObject;
}

export interface Source {
  readonly agents: readonly SourceAgent[];
  readonly swarm: JsonObject | undefined;
  /** `mcp_config` of the whole file. */
  readonly servers: Json | undefined;
  readonly steps: Json | undefined;
}

const FRONT_MATTER = /^---\r?\n([^]*?)\r?\n---\r?\n?/;
const file = z.looseObject({
  vars: z.record(z.string(), z.unknown()).optional(),
  agents: z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())]).optional(),
  swarm: z.unknown().optional(), mcp_config: z.unknown().optional(), mcpServers: z.unknown().optional(), task_config: z.unknown().optional(),
});

/**
 * Reads a file of agents: its `agents:` a mapping (agents YAML) or a list (task and swarm YAML), or one agent as
 * Markdown with front matter. `${NAME}` becomes `${env:NAME}`, `${vars.X}` what stands there. Throws StudioError `config`.
 */
export function readSource(name: string, text: string): Source {
  return /\.(md|markdown)$/i.test(name) ? readMarkdown(name, text) : readYaml(name, text);
}

function readMarkdown(name: string, text: string): Source {
  const front = FRONT_MATTER.exec(text);
  if (front === null) throw new StudioError('config', `${name} has no front matter, so that nothing says which agent it is.`, { mend: 'It should begin with `---`, `name: …` and `---`; what follows is the prompt.' });
  const fields = withVariables(name, yaml(name, front[1] ?? '', 1));
  const base = name.replace(/^.*[/\\]/, '').replace(/\.\w+$/, '');
  return { agents: [{ name: textOf(fields['name']) ?? base, fields: { ...fields, system_prompt: text.slice(front[0].length).trim() } }], swarm: undefined, servers: undefined, steps: undefined };
}

function readYaml(name: string, text: string): Source {
  const value = withVariables(name, yaml(name, text, 0));
  const read = file.safeParse(value);
  if (!read.success || read.data.agents === undefined) {
    const servers = isJsonObject(value['mcpServers']);
    throw new StudioError('config', servers ? `${name} names MCP servers and no agents.` : `${name} names no agents.`, {
      mend: servers ? `Put them into an agent file of yours: rollout tool add AGENT --from ${name}` : 'It should have `agents:`, as AWorld\'s agents, task and swarm files have, or be a Markdown agent.',
    });
  }
  const { agents, swarm, mcp_config: servers, task_config: config } = read.data as { agents: Json; swarm?: Json; mcp_config?: Json; task_config?: Json };
  return {
    agents: Array.isArray(agents) ? agents.map((one, index) => listed(one, index)) : Object.entries(isJsonObject(agents) ? agents : {}).map(([key, one]) => ({ name: key, fields: isJsonObject(one) ? one : {} })),
    swarm: isJsonObject(swarm) ? swarm : undefined, servers, steps: isJsonObject(config) ? config['max_steps'] : undefined,
  };
}

function listed(one: Json, index: number): SourceAgent {
  const fields = isJsonObject(one) ? one : {};
  return { name: (typeof one === 'string' ? one : undefined) ?? textOf(fields['id']) ?? textOf(fields['name']) ?? `agent-${index + 1}`, fields };
}

function yaml(name: string, text: string, skipped: number): JsonObject {
  const parsed = parseFile(name, '\n'.repeat(skipped) + text);
  if (hasErrors(parsed.problems)) throw problemsError(parsed.problems);
  if (!isJsonObject(parsed.value)) throw new StudioError('config', `${name} is no mapping of keys.`, { mend: 'Give an agents, task or swarm file of AWorld, or a Markdown agent.' });
  return parsed.value;
}

/** A text that is a variable as a whole takes the variable's own type. */
function withVariables(name: string, value: JsonObject): JsonObject {
  const vars = isJsonObject(value['vars']) ? value['vars'] : {};
  const variable = (key: string): Json => {
    const found = vars[key];
    if (found === undefined) throw new StudioError('config', `${name}: \`\${vars.${key}}\` is used, but \`vars\` has no \`${key}\`.`, { mend: `Add ${key} to \`vars\`.` });
    return found;
  };
  const walk = (one: Json): Json => {
    if (Array.isArray(one)) return one.map(walk);
    if (isJsonObject(one)) return Object.fromEntries(Object.entries(one).map(([key, member]) => [key, walk(member)]));
    if (typeof one !== 'string') return one;
    const whole = /^\$\{vars\.(\w+)\}$/.exec(one);
    if (whole !== null) return environment(variable(whole[1] ?? ''));
    return environment(one.replaceAll(/\$\{vars\.(\w+)\}/g, (_, key: string) => plainText(variable(key))));
  };
  return walk(Object.fromEntries(Object.entries(value).filter(([key]) => key !== 'vars'))) as JsonObject;
}

function environment(value: Json): Json {
  return typeof value === 'string' ? value.replaceAll(/\$\{([A-Za-z_]\w*)\}/g, '${env:$1}') : value;
}

/** As it stands in a text. */
export function plainText(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}

/** A text that says something. */
export function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}
