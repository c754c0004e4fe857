import PersonalInformation
import Testing
import _Primitives

/// What services are told of attributes, and how their back ends read it.
@Suite struct AttributeClaimsTests {
    @Test(
        "Every attribute comes out of its claim as it went in; an address as the lines of a letter",
        arguments: PersonalAttribute.allCases)
    func roundTrip(_ attribute: PersonalAttribute) throws {
        let spelling = attribute.example
        let claims: JSONObject = [attribute.claimName: try #require(attribute.claim(of: spelling))]
        let expected = attribute == .address ? "St James's Square 12\nSW1Y 4JH London\nGB" : spelling
        #expect(try attribute.text(in: claims) == expected)
        #expect(try attribute.text(in: [:]) == nil)
    }

    @Test("No two attributes share a claim")
    func names() {
        #expect(Set(PersonalAttribute.allCases.map(\.claimName)).count == PersonalAttribute.allCases.count)
    }

    @Test("A claim of another form is refused, and a text that is no address gives none")
    func malformed() {
        #expect(throws: JSONError.self) { () throws in
            try PersonalAttribute.placeOfBirth.text(in: ["place_of_birth": .string("London")])
        }
        #expect(PersonalAttribute.address.claim(of: "one line") == nil)
    }
}
