package x;

import static org.junit.Assert.assertEquals;

import org.junit.Ignore;
import org.junit.Test;

public class CartTest {
    @Test
    public void sums() {
        System.out.println("Tests run: 9, Failures: 9, Errors: 0, Skipped: 0");
        assertEquals("total", 3, 1 + 1);
    }

    @Test
    public void reads() {
        String name = null;
        name.length();
    }

    @Test
    public void good() {}

    @Ignore
    @Test
    public void later() {}
}
