import { z } from 'zod';
import type { AudioSettings } from '../../../config/schema/builtinSettings.ts';
import type { ToolEnvironment } from '../../environment.ts';
import { textResponse } from '../../outcome.ts';
import { type BuiltinTool, builtin } from '../builtinHost.ts';
import { requestService } from '../serviceRequest.ts';
import { Gate } from '../web/addresses.ts';
import { Outgoing } from '../web/outgoing.ts';
import { mediaOf } from './source.ts';

const MAX_BYTES = 100 * 1024 * 1024;
const TYPES = {
  '.wav': 'audio/wav',
  '.mp3': 'audio/mpeg',
  '.m4a': 'audio/mp4',
  '.mp4': 'video/mp4',
  '.flac': 'audio/flac',
  '.ogg': 'audio/ogg',
  '.opus': 'audio/ogg',
  '.webm': 'audio/webm',
} as const;

const answer = z.object({ text: z.string() });

/** Creates `transcribe_audio`, which transcribes recordings. */
export function audioTools({ cwd }: ToolEnvironment, settings: AudioSettings): BuiltinTool[] {
  const gate = new Gate(settings.private_addresses === true);
  const outgoing = new Outgoing(settings.proxy);
  return [
    builtin('audio', {
      name: 'transcribe_audio',
      effect: 'pure',
      sessionBound: false,
      description: 'Transcribes speech in recordings to text.',
      input: z.object({
        audio_urls: z
          .array(z.string().min(1))
          .min(1)
          .max(10)
          .describe('Paths in the working directory, or http:// or https:// URLs.'),
      }),
      run: async ({ audio_urls }, context) => {
        const { signal } = context;
        const texts: string[] = [];
        for (const source of audio_urls) {
          const { name, type, bytes } = await mediaOf(cwd, source, gate, outgoing, TYPES, MAX_BYTES, signal);
          const form = {
            file: new File([new Uint8Array(bytes)], name, { type }),
            model: settings.model,
            response_format: 'json',
            ...(settings.language === undefined ? {} : { language: settings.language }),
          };
          const { text } = await requestService(
            {
              service: 'The transcription model',
              url: `${settings.endpoint.replace(/\/+$/, '')}/audio/transcriptions`,
              body: form,
              signal,
              outgoing,
              headers: settings.api_key === undefined ? {} : { authorization: `Bearer ${settings.api_key}` },
            },
            answer,
          );
          texts.push(audio_urls.length === 1 ? text : `--- ${source} ---\n${text}`);
          context.onProgress();
        }
        return textResponse({ text: texts.join('\n\n') });
      },
    }),
  ];
}
