// swift-tools-version: 6.2
import PackageDescription

/// Fuzzing of every parser that reads input from outside. `scripts/fuzz` builds and runs the package and gives the
/// linker's flags.
///
/// The parsers are the product's own sources, compiled again with the instrumentation that guides the fuzzer: the
/// folders beside `FuzzTargets` are links to the sources.

let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let asn1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1")
let x509: Target.Dependency = .product(name: "X509", package: "swift-certificates")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let instrumented: [SwiftSetting] = [
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .unsafeFlags(["-sanitize=fuzzer"]),
]
/// The folder of the compiler's runtime libraries.
let runtime = Context.environment["FUZZ_RUNTIME"] ?? "."
let architecture = Context.environment["FUZZ_ARCHITECTURE"] ?? "x86_64"

let package = Package(
    name: "countersign-fuzz-testing",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    ],
    targets: [
        .target(name: "_Primitives", swiftSettings: instrumented),
        .target(name: "JOSE", dependencies: ["_Primitives", crypto, cryptoExtras], swiftSettings: instrumented),
        .target(name: "PersonalInformation", dependencies: ["_Primitives"], swiftSettings: instrumented),
        .target(name: "UAF", dependencies: ["_Primitives", crypto], swiftSettings: instrumented),
        .target(
            name: "Ceremony",
            dependencies: ["_Primitives", "JOSE", "PersonalInformation", "UAF", crypto, cryptoExtras],
            swiftSettings: instrumented),
        .target(name: "OAuth", dependencies: ["_Primitives", "JOSE", crypto], swiftSettings: instrumented),
        .target(
            name: "FuzzTargets",
            dependencies: [
                "_Primitives", "JOSE", "PersonalInformation", "UAF", "Ceremony", "OAuth", "UAFClient", "Countersign",
                crypto,
            ],
            swiftSettings: instrumented),
        .target(
            name: "UAFClient", dependencies: ["_Primitives", "UAF", crypto, cryptoExtras], swiftSettings: instrumented),
        .target(
            name: "Countersign",
            dependencies: ["_Primitives", "JOSE", "UAF", "Ceremony", "OAuth", "UAFClient", crypto],
            exclude: ["Countersign.docc"], swiftSettings: instrumented),
        .target(
            name: "CountersignTestKit",
            dependencies: ["_Primitives", "UAF", "Ceremony", "UAFClient", "Countersign", crypto, cryptoExtras],
            swiftSettings: instrumented),
        .systemLibrary(name: "CSecp256k1", pkgConfig: "libsecp256k1", providers: [.apt(["libsecp256k1-dev"])]),
        .target(
            name: "UAFRelyingParty",
            dependencies: ["_Primitives", "UAF", crypto, cryptoExtras, x509, asn1, "CSecp256k1"],
            resources: [.embedInCode("Metadata")], swiftSettings: instrumented),
        .systemLibrary(name: "CArgon2", pkgConfig: "libargon2", providers: [.apt(["libargon2-dev"])]),
        .systemLibrary(name: "CCrypt", pkgConfig: "libcrypt", providers: [.apt(["libcrypt-dev"])]),
        .target(
            name: "Passwords", dependencies: ["_Primitives", crypto, cryptoExtras, "CArgon2", "CCrypt"],
            swiftSettings: instrumented),
        .target(name: "Settings", dependencies: ["_Primitives"], swiftSettings: instrumented),
        .target(
            name: "Records",
            dependencies: ["_Primitives", "JOSE", "PersonalInformation", "UAF", "OAuth", "Settings", crypto],
            swiftSettings: instrumented),
        .target(
            name: "Sealing", dependencies: ["_Primitives", "Settings", "Records", crypto], swiftSettings: instrumented),
        .target(
            name: "CeremonyEngine",
            dependencies: [
                "_Primitives", "JOSE", "PersonalInformation", "UAF", "Ceremony", "Settings", "Records", "Sealing",
                "UAFRelyingParty", crypto,
            ], swiftSettings: instrumented),
        .target(
            name: "ServerFuzzTargets",
            dependencies: [
                "_Primitives", "UAF", "Ceremony", "UAFRelyingParty", "Records", "CeremonyEngine", "Passwords",
                "CountersignTestKit", nioHTTP1,
            ], swiftSettings: instrumented),
        .executableTarget(
            name: "Fuzz", dependencies: ["FuzzTargets", "ServerFuzzTargets"],
            linkerSettings: [
                .unsafeFlags([
                    "-L\(runtime)", "-lclang_rt.fuzzer_no_main-\(architecture)", "-lstdc++", "-lm",
                ])
            ]),
    ],
    swiftLanguageModes: [.v6]
)
