// swift-tools-version: 6.2
import PackageDescription

/// The load generator of `make bench` and the kill tests of `make test`: clients of a running server, with separate
/// keys. The package also measures the cost of verification without a server. The package is separate, so that neither
/// an app nor the server resolves it.

/// Products of the SDK package.
func sdk(_ names: String...) -> [Target.Dependency] { names.map { .product(name: $0, package: "countersign") } }
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let relyingParty: Target.Dependency = .product(name: "UAFRelyingParty", package: "countersign-server")
let passwords: Target.Dependency = .product(name: "Passwords", package: "countersign-server")
let ceremonyEngine: Target.Dependency = .product(name: "CeremonyEngine", package: "countersign-server")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let secp256k1TestKeys: Target.Dependency = .product(name: "Secp256k1TestKeys", package: "countersign-server")

let package = Package(
    name: "countersign-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "countersign", path: ".."),
        .package(name: "countersign-server", path: "../Server"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: ["FullFoundation"]),
    ],
    targets: [
        .target(name: "ServerClients", dependencies: sdk("_Primitives", "JOSE", "UAF", "Ceremony") + [crypto]),
        .executableTarget(
            name: "LoadGenerator",
            dependencies: sdk(
                "_Primitives", "UAF", "UAFClient", "Countersign", "CountersignLinux", "CountersignTestKit") + [
                    "ServerClients", passwords, crypto,
                ]),
        .executableTarget(
            name: "VerificationCost",
            dependencies: sdk("_Primitives", "UAF") + [relyingParty, secp256k1TestKeys, crypto, cryptoExtras]),
        .executableTarget(name: "CrashTest", dependencies: sdk("_Primitives", "UAF") + ["ServerClients"]),
        .executableTarget(
            name: "RenewalTest",
            dependencies: sdk(
                "_Primitives", "JOSE", "UAF", "OAuth", "Countersign", "CountersignLinux", "CountersignTestKit") + [
                    "ServerClients"
                ]),
        // The floor of the server's start.
        .executableTarget(
            name: "OneRoute", dependencies: [.product(name: "Hummingbird", package: "hummingbird")]),
        // This target compiles the fuzz targets' code again, for a counter of instructions.
        .executableTarget(
            name: "CountWork",
            dependencies: sdk(
                "_Primitives", "JOSE", "PersonalInformation", "UAF", "Ceremony", "OAuth", "UAFClient", "Countersign",
                "CountersignTestKit") + [relyingParty, ceremonyEngine, passwords, crypto, nioHTTP1]),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets {
    target.swiftSettings = [
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("ExistentialAny"),
        .treatAllWarnings(as: .error),
    ]
}
