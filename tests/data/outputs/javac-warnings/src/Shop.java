import java.util.*;

class Shop {
    List items = new ArrayList();

    int first() {
        return (int) items.get(0);
    }

    String name() {
        return 3;
    }
}
