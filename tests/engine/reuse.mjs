// node reuse.mjs MODEL PROMPTS: evaluate prompts of tokens one after the other in one slot of llama.cpp, and print, as one
// line of JSON, what of each was reused and what was computed. Byte 0 is token 3 (tiny_model.py).
import {readFileSync} from "node:fs";
import {getLlama, LlamaLogLevel} from "node-llama-cpp";

const FIRST_BYTE = 3;
const [modelPath, promptsPath] = process.argv.slice(2);
const prompts = JSON.parse(readFileSync(promptsPath, "utf-8")).map((bytes) => bytes.map((byte) => byte + FIRST_BYTE));

const llama = await getLlama({gpu: false, build: "never", logLevel: LlamaLogLevel.error});
const model = await llama.loadModel({modelPath});
const longest = Math.max(...prompts.map((prompt) => prompt.length));
// One thread: several would wait for each other in turns on a busy machine.
const context = await model.createContext({contextSize: longest + 32, sequences: 1, batchSize: 512, threads: 1});
const sequence = context.getSequence();

const answers = [];
for (const prompt of prompts) {
    // An engine computes at least the last token, whose output is the first token of the reply.
    await sequence.adaptStateToTokens(prompt.slice(0, -1), false);
    const reused = sequence.nextTokenIndex;
    const before = sequence.tokenMeter.usedInputTokens;
    await sequence.evaluateWithoutGeneratingNewTokens(prompt.slice(reused));
    answers.push({prompt: prompt.length, reused, evaluated: sequence.tokenMeter.usedInputTokens - before});
}
console.log(JSON.stringify(answers));
process.exit(0);
