"""MQTT 5 as a source of events. Needs the extra `mqtt`."""

from siteward.core.events.mqtt import MqttBroker, MqttSettings

__all__ = ["MqttBroker", "MqttSettings"]
