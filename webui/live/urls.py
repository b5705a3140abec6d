"""Route of the event stream."""

from django.urls import path

from webui.live.stream import stream

urlpatterns = [path("live/stream", stream, name="live-stream")]
