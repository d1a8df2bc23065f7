import java.util.concurrent.ThreadLocalRandom;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.util.Bytes;

/** HBase's own client in YCSB's loop: 95 % gets, 5 % puts of all fields; a thread a user. */
public final class Peer {
  static final int ROWS = 1000;
  static final int FIELDS = 10;
  static byte[] family;

  public static void main(String[] arguments) throws Exception {
    Configuration configuration = HBaseConfiguration.create();
    configuration.set(
        "hbase.client.registry.impl", "org.apache.hadoop.hbase.client.MasterRegistry");
    configuration.set("hbase.masters", arguments[0]);
    TableName name = TableName.valueOf(arguments[1]);
    family = Bytes.toBytes(arguments[2]);
    int users = Integer.parseInt(arguments[3]);
    long operations = Long.parseLong(arguments[4]);
    try (Connection connection = ConnectionFactory.createConnection(configuration)) {
      try (Table table = connection.getTable(name)) {
        for (int row = 0; row < ROWS; row++) {
          table.put(put(row));
        }
      }
      Thread[] threads = new Thread[users];
      for (int user = 0; user < users; user++) {
        threads[user] = new Thread(() -> run(connection, name, operations / users));
        threads[user].start();
      }
      for (Thread thread : threads) {
        thread.join();
      }
    }
  }

  static void run(Connection connection, TableName name, long operations) {
    try (Table table = connection.getTable(name)) {
      ThreadLocalRandom random = ThreadLocalRandom.current();
      for (long i = 0; i < operations; i++) {
        int row = random.nextInt(ROWS);
        if (random.nextInt(100) < 5) {
          table.put(put(row));
        } else if (table.get(new Get(key(row)).addFamily(family)).isEmpty()) {
          throw new IllegalStateException("row " + row + " isn't there");
        }
      }
    } catch (Exception failure) {
      failure.printStackTrace();
      System.exit(1);
    }
  }

  static byte[] key(int row) {
    return Bytes.toBytes("peer" + row);
  }

  static Put put(int row) {
    Put put = new Put(key(row));
    byte[] value = new byte[100];
    for (int field = 0; field < FIELDS; field++) {
      ThreadLocalRandom.current().nextBytes(value);
      put.addColumn(family, Bytes.toBytes("field" + field), value.clone());
    }
    return put;
  }
}
