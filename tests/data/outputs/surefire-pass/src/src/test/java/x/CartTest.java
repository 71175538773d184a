package x;

import org.junit.Test;

public class CartTest {
    @Test
    public void good() {}
}
