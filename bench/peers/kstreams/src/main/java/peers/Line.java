package peers;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.time.LocalDate;
import org.apache.kafka.common.errors.SerializationException;

/** The fields of a sale line that the job needs. */
record Line(long units, long soldAtMs) {
  private static final JsonFactory JSON = new JsonFactory();

  /** Returns the sale line of a change event. Reads the tokens once and builds no tree. */
  static Line parse(byte[] content) {
    long units = 0;
    long soldAtMs = 0;
    try (JsonParser json = JSON.createParser(content)) {
      json.nextToken();
      while (json.nextToken() == JsonToken.FIELD_NAME) {
        boolean isAfter = json.currentName().equals("after");
        JsonToken value = json.nextToken();
        if (!isAfter) {
          if (value.isStructStart()) {
            json.skipChildren();
          }
          continue;
        }
        while (json.nextToken() == JsonToken.FIELD_NAME) {
          String column = json.currentName();
          JsonToken cell = json.nextToken();
          if (column.equals("quantity_units")) {
            units = json.getLongValue();
          } else if (column.equals("occurred_at")) {
            soldAtMs = milliseconds(json.getTextCharacters(), json.getTextOffset());
          } else if (cell.isStructStart()) {
            json.skipChildren();
          }
        }
      }
    } catch (IOException failure) {
      throw new SerializationException(failure);
    }
    return new Line(units, soldAtMs);
  }

  /** Returns 2026-11-20T03:00:00.123456Z without fraction, in milliseconds since 1970. */
  private static long milliseconds(char[] text, int at) {
    int year = pair(text, at) * 100 + pair(text, at + 2);
    long days = LocalDate.of(year, pair(text, at + 5), pair(text, at + 8)).toEpochDay();
    long minutes = (days * 24 + pair(text, at + 11)) * 60 + pair(text, at + 14);
    return (minutes * 60 + pair(text, at + 17)) * 1000;
  }

  private static int pair(char[] text, int at) {
    return (text[at] - '0') * 10 + text[at + 1] - '0';
  }
}
