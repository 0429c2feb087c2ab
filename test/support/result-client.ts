/** A client that waits for results of test sessions, as existing ones do: MQTT over WebSocket. */
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt';
import { eventually } from './eventually.ts';
