import Testing
import _Primitives

@testable import UAF

@Suite("UAF 1.1 §1: identifiers and their limits")
struct IdentifiersTests {
    @Test("An AAID has one canonical spelling whatever the case it came in")
    func canonicalAAID() throws {
        #expect(try AAID("abcd#0f1e") == AAID("ABCD#0F1E"))
        #expect(try AAID("abcd#0f1e").text == "ABCD#0F1E")
        #expect(try AAID("C516#0001").vendorID == "C516")
    }
}
