import type { Turn } from '../text/completion.ts';

/** In a workspace that it does not know, the demo model says what it is and what it can do. */
export function introduction(tools: ReadonlySet<string>): Turn {
  const names = [...tools].slice(0, 8).join(', ');
  const about = tools.size === 0 ? 'no tools' : `the tools ${names}${tools.size > 8 ? ', …' : ''}`;
  return {
    reasoning: '',
    content:
      'I am the demo model of Rollout Studio: a few fixed rules for the sample workspace, not a language model. ' +
      `This request has ${about} and nothing I have rules for. ` +
      'Set `model.endpoint` of the agent to a real model server, or direct me in the question with lines such as ' +
      '`call TOOL {"argument": 1}` and `answer TEXT`.',
    calls: [],
  };
}
