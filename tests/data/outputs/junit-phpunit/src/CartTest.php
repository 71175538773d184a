<?php
use PHPUnit\Framework\TestCase;

final class CartTest extends TestCase
{
    public function testSum(): void
    {
        echo "1) CartTest::testPrinted\n";
        $this->assertSame(3, 1 + 1);
    }

    public function testThrows(): void
    {
        throw new RuntimeException("no cart");
    }

    /** @dataProvider rows */
    public function testRow(int $n): void
    {
        $this->assertLessThan(2, $n, "row too big");
    }

    public static function rows(): array
    {
        return ["one" => [1], "two" => [2]];
    }

    public function testLater(): void
    {
        $this->markTestSkipped("later");
    }

    public function testGood(): void
    {
        $this->assertTrue(true);
    }
}
