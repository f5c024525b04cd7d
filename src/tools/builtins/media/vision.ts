import { z } from 'zod';
import type { VisionSettings } from '../../../config/schema/builtinSettings.ts';
import type { ToolEnvironment } from '../../environment.ts';
import { type BuiltinTool, builtin } from '../builtinHost.ts';
import { requestService } from '../serviceRequest.ts';
import { Gate } from '../web/addresses.ts';
import { Outgoing } from '../web/outgoing.ts';
import { mediaOf } from './source.ts';

const MAX_BYTES = 20 * 1024 * 1024;
const TYPES = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.bmp': 'image/bmp',
} as const;

const answer = z.object({
  choices: z.array(z.object({ message: z.object({ content: z.string().nullish() }) })).min(1),
});

/** Creates `image_recognition`, which asks a vision model a question about images. */
export function visionTools({ cwd }: ToolEnvironment, settings: VisionSettings): BuiltinTool[] {
  const gate = new Gate(settings.private_addresses === true);
  const outgoing = new Outgoing(settings.proxy);
  return [
    builtin('vision', {
      name: 'image_recognition',
      effect: 'pure',
      sessionBound: false,
      description: 'Answers a question about images, e.g. what they show or what text they contain.',
      input: z.object({
        image_urls: z
          .array(z.string().min(1))
          .min(1)
          .max(10)
          .describe('Paths in the working directory, or http:// or https:// URLs.'),
        question: z.string().min(1),
      }),
      run: async ({ image_urls, question }, { signal }) => {
        const images = await Promise.all(
          image_urls.map((image) => mediaOf(cwd, image, gate, outgoing, TYPES, MAX_BYTES, signal)),
        );
        const content = [
          ...images.map(({ type, bytes }) => ({
            type: 'image_url',
            image_url: { url: `data:${type};base64,${bytes.toString('base64')}` },
          })),
          { type: 'text', text: question },
        ];
        const request = {
          model: settings.model,
          messages: [{ role: 'user', content }],
          ...(settings.max_tokens === undefined ? {} : { max_tokens: settings.max_tokens }),
        };
        const { choices } = await requestService(
          {
            service: 'The vision model',
            url: `${settings.endpoint.replace(/\/+$/, '')}/chat/completions`,
            body: JSON.stringify(request),
            signal,
            outgoing,
            headers: settings.api_key === undefined ? {} : { authorization: `Bearer ${settings.api_key}` },
          },
          answer,
        );
        return { response: choices[0]?.message.content ?? '' };
      },
    }),
  ];
}
