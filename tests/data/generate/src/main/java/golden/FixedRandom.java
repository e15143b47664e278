package golden;

import java.security.Provider;
import java.security.SecureRandomSpi;
import java.security.Security;
import java.util.Random;

/** Random numbers that are the same in every run, for the UUIDs in Paimon's file names. */
public final class FixedRandom extends SecureRandomSpi {
    private static Random random = new Random(0);

    /** Puts this generator before the platform's. */
    static void install() {
        Provider provider = new Provider("FixedRandom", "1", "random numbers that repeat") {};
        provider.put("SecureRandom.FixedRandom", FixedRandom.class.getName());
        Security.insertProviderAt(provider, 1);
    }

    /** Starts anew, from a name. */
    static synchronized void seed(String name) {
        random = new Random(name.hashCode());
    }

    @Override
    protected void engineSetSeed(byte[] seed) {}

    @Override
    protected void engineNextBytes(byte[] bytes) {
        synchronized (FixedRandom.class) {
            random.nextBytes(bytes);
        }
    }

    @Override
    protected byte[] engineGenerateSeed(int bytes) {
        return new byte[bytes];
    }
}
