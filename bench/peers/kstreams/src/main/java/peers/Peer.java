package peers;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.WindowStore;

/** The job on Kafka Streams: one thread, stores in memory, default changelogs, default cache. */
public final class Peer {
  private Peer() {}

  /** Options: --bootstrap --topic --name --directory, as every peer has them. */
  public static void main(String[] arguments) throws Exception {
    Map<String, String> options = new HashMap<>();
    for (int i = 0; i + 1 < arguments.length; i += 2) {
      options.put(arguments[i].substring(2), arguments[i + 1]);
    }
    Path directory = Path.of(options.get("directory"));
    Properties settings = settings(options, directory);
    KafkaStreams streams =
        new KafkaStreams(topology(options.get("topic"), directory.resolve("first")), settings);
    CountDownLatch ended = new CountDownLatch(1);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      // By default, a closed client stays in the group until its session times out.
      streams.close(new KafkaStreams.CloseOptions().leaveGroup(true).timeout(Duration.ofSeconds(30)));
      ended.countDown();
    }));
    streams.start();
    ended.await();
  }

  private static Properties settings(Map<String, String> options, Path directory) {
    Properties settings = new Properties();
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, options.get("name"));
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, options.get("bootstrap"));
    settings.put(StreamsConfig.STATE_DIR_CONFIG, directory.resolve("state").toString());
    settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, "1");
    settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.AT_LEAST_ONCE);
    settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, "1000");
    settings.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, "1");
    settings.put(
        StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG,
        BuiltInDslStoreSuppliers.InMemoryDslStoreSuppliers.class);
    // The business times lie in the past. With the default retention, the broker would delete the
    // changelog records of such windows.
    settings.put(StreamsConfig.WINDOW_STORE_CHANGE_LOG_ADDITIONAL_RETENTION_MS_CONFIG,
        String.valueOf(Duration.ofDays(36_500).toMillis()));
    settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    settings.put(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, "6000");
    settings.put("producer.compression.type", "lz4");
    return settings;
  }

  private static Topology topology(String topic, Path first) {
    AtomicBoolean started = new AtomicBoolean();
    Serde<Line> lines = Serdes.serdeFrom(
        (name, line) -> { throw new UnsupportedOperationException(); },
        (name, content) -> Line.parse(content));
    StreamsBuilder builder = new StreamsBuilder();
    KGroupedStream<String, Line> sales = builder
        .stream(topic, Consumed.with(Serdes.String(), lines)
            .withTimestampExtractor((record, before) -> ((Line) record.value()).soldAtMs()))
        .peek((key, line) -> {
          if (!started.getPlain() && started.compareAndSet(false, true)) {
            touch(first);
          }
        })
        .groupByKey(Grouped.with(Serdes.String(), lines));
    sales.aggregate(
        () -> 0L,
        (key, line, units) -> units - line.units(),
        Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("on_hand")
            .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()));
    sales.windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofMinutes(10), Duration.ofMinutes(10)))
        .aggregate(
            () -> 0L,
            (key, line, units) -> units + line.units(),
            Materialized.<String, Long, WindowStore<Bytes, byte[]>>as("windows")
                .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()));
    return builder.build();
  }

  private static void touch(Path file) {
    try {
      Files.createFile(file);
    } catch (java.io.IOException failure) {
      throw new java.io.UncheckedIOException(failure);
    }
  }
}
